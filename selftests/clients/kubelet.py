#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Translates a pod for the Container Runtime Interface, as a kubelet does (see cri.py).

usage: kubelet.py sandbox POD NAME LOGS
       kubelet.py container POD NAME LOGS SANDBOX LIBRARY PLUGIN COMMAND...

Prints the request that creates the sandbox, or the one that creates the pod's container
there, as NAME, with COMMAND in place of the pod's. LIBRARY is the path of its host volume.
For the resource of the vendor the request has the answer of a device plugin: for PLUGIN "cdi"
a name, for "path" a node. A key of the pod that this does not translate is an error.
"""

import json
import sys

NODE = '/dev/infiniband/rdma_ep'
ANSWERS = {
    'cdi': {'CDI_devices': [{'name': 'rdma-ep/device=all'}]},
    'path': {'devices': [{'container_path': NODE, 'host_path': NODE,
                          'permissions': 'rw'}]}}
PARENT = '/kubepods/burstable/pod'
SECCOMP = {'profile_type': 'RuntimeDefault'}
UNITS = {'Ki': 1 << 10, 'Mi': 1 << 20, 'Gi': 1 << 30}


def known(obj, **keys):
    """keys: a value that must be there, or None for any"""
    for key, value in obj.items():
        if key not in keys or keys[key] not in (None, value):
            sys.exit(f'kubelet.py: {key}: {value}')
    return obj


def sandbox(pod, name, logs):
    spec = known(pod['spec'], restartPolicy='Never', hostNetwork=True,
                 automountServiceAccountToken=False, securityContext=None,
                 containers=None, volumes=None)
    user = known(spec['securityContext'], runAsNonRoot=True, runAsUser=None,
                 runAsGroup=None, seccompProfile={'type': 'RuntimeDefault'})
    return {
        'metadata': {'name': name, 'uid': name,
                     'namespace': pod['metadata']['namespace']},
        'log_directory': logs,
        'linux': {
            'cgroup_parent': PARENT + name,
            'security_context': {
                'namespace_options': {'network': 'NODE', 'pid': 'CONTAINER'},
                'run_as_user': {'value': user['runAsUser']},
                'run_as_group': {'value': user['runAsGroup']},
                'seccomp': SECCOMP}}}


def container(pod, name, library, plugin, command):
    spec = pod['spec']
    user = spec['securityContext']
    main = known(spec['containers'][0], name='main', image=None, imagePullPolicy='Never',
                 command=None, env=None, resources=None, securityContext=None,
                 volumeMounts=None)
    security = known(main['securityContext'], allowPrivilegeEscalation=False,
                     readOnlyRootFilesystem=True, capabilities={'drop': ['ALL']})
    limits = known(main['resources'], limits=None)['limits']
    memory = known(limits, **{'memory': None, 'rdma-ep.example.org/rdma-ep': '1'})['memory']
    for volume in spec['volumes']:
        known(volume, name='librdma-ep', hostPath=None)
    return {
        'metadata': {'name': name},
        'image': {'image': main['image']},
        'command': command,
        'envs': [{'key': env['name'], 'value': env['value']} for env in main['env']],
        'mounts': [{'container_path': mount['mountPath'], 'host_path': library,
                    'readonly': mount['readOnly']} for mount in main['volumeMounts']],
        'log_path': name + '.log',
        **ANSWERS[plugin],
        'linux': {
            'resources': {'memory_limit_in_bytes': int(memory[:-2]) * UNITS[memory[-2:]]},
            'security_context': {
                'capabilities': {'drop_capabilities': security['capabilities']['drop']},
                'namespace_options': {'network': 'NODE', 'pid': 'CONTAINER'},
                'run_as_user': {'value': user['runAsUser']},
                'run_as_group': {'value': user['runAsGroup']},
                'readonly_rootfs': security['readOnlyRootFilesystem'],
                'no_new_privs': not security['allowPrivilegeEscalation'],
                'seccomp': SECCOMP}}}


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    what, file, name, logs, *rest = sys.argv[1:]
    with open(file, encoding='utf-8') as text:
        pod = json.load(text)
    request = {'config': sandbox(pod, name, logs)}
    if what == 'container':
        request = {'pod_sandbox_id': rest[0], 'sandbox_config': request['config'],
                   'config': container(pod, name, rest[1], rest[2], rest[3:])}
    json.dump(request, sys.stdout)


main()
