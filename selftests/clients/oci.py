#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What container engines do before they call an OCI runtime: take a CDI
specification and make a config.json.

usage: oci.py check SPEC
       oci.py config ROOT SPEC DEVICE PROGRAM ARGS...

"check" prints what a runtime would refuse (engines take no key that they do
not know), a line each, and fails if there is anything.

"config" prints the config.json of a container in which PROGRAM runs: user
1000, no capability, no new privileges, 64 KiB of RLIMIT_MEMLOCK, ROOT read-only,
the host's network, and of devices those that every container has, and DEVICE
(VENDOR/CLASS=NAME) of SPEC. DEVICE "none": not even that. "forbidden": it is
made, but not allowed.
"""

import json
import os
import re
import stat
import sys

VERSIONS = ('0.3.0', '0.4.0', '0.5.0', '0.6.0', '0.7.0', '0.8.0')
NAME = r'[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?'
SPEC_KEYS = {'cdiVersion', 'kind', 'annotations', 'devices', 'containerEdits'}
EDIT_KEYS = {'env', 'deviceNodes', 'mounts', 'hooks'}
NODE_KEYS = {'path', 'hostPath', 'type', 'major', 'minor', 'fileMode',
             'permissions', 'uid', 'gid'}


def check_edits(edits, where):
    if not isinstance(edits, dict) or not edits:
        yield f'{where}: no containerEdits'
        return
    for key in edits.keys() - EDIT_KEYS:
        yield f'{where}: unknown key {key}'
    for node in edits.get('deviceNodes', []):
        for key in node.keys() - NODE_KEYS:
            yield f'{where}: unknown key {key}'
        if not node.get('path', '').startswith('/'):
            yield f'{where}: a device node has no absolute path'
        if node.get('type', 'c') not in ('b', 'c', 'u', 'p'):
            yield f'{where}: unknown type of a device node'
        if not re.fullmatch('[rwm]*', node.get('permissions', '')):
            yield f'{where}: unknown permissions'


def check(spec):
    for key in spec.keys() - SPEC_KEYS:
        yield f'unknown key {key}'
    if spec.get('cdiVersion') not in VERSIONS:
        yield 'no cdiVersion that engines know'
    if not re.fullmatch(f'{NAME}/{NAME}', spec.get('kind', '')):
        yield 'kind is not VENDOR/CLASS'
    devices = spec.get('devices')
    if not isinstance(devices, list) or not devices:
        yield 'no devices'
        return
    names = [device.get('name', '') for device in devices]
    if len(set(names)) < len(names):
        yield 'two devices of one name'
    for device in devices:
        name = device.get('name', '')
        if not re.fullmatch(NAME, name):
            yield f'"{name}" is no name'
        for key in device.keys() - {'name', 'annotations', 'containerEdits'}:
            yield f'{name}: unknown key {key}'
        yield from check_edits(device.get('containerEdits'), name)


def device_nodes(spec, wanted):
    for device in spec['devices']:
        if f"{spec['kind']}={device['name']}" == wanted:
            return device['containerEdits']['deviceNodes']
    sys.exit(f'no device {wanted}')


def config(root, spec, wanted, args):
    devices = []
    allowed = [{'allow': False, 'access': 'rwm'}]
    nodes, forbidden = [], False
    if wanted != 'none':
        forbidden = wanted == 'forbidden'
        if forbidden:
            wanted = f"{spec['kind']}={spec['devices'][0]['name']}"
        nodes = device_nodes(spec, wanted)
    for node in nodes:
        # Values missing in the specification are those of the host.
        host = os.stat(node.get('hostPath', node['path']))
        major = node.get('major', os.major(host.st_rdev))
        minor = node.get('minor', os.minor(host.st_rdev))
        devices.append({
            'path': node['path'], 'type': node.get('type', 'c'),
            'major': major, 'minor': minor,
            'fileMode': node.get('fileMode', stat.S_IMODE(host.st_mode)),
            'uid': node.get('uid', host.st_uid),
            'gid': node.get('gid', host.st_gid)})
        allowed.append({
            'allow': not forbidden, 'type': node.get('type', 'c'),
            'major': major, 'minor': minor,
            'access': node.get('permissions', 'rwm')})
    none = {kind: [] for kind in ('bounding', 'effective', 'permitted',
                                  'inheritable', 'ambient')}
    return {
        'ociVersion': '1.0.2',
        'process': {
            'user': {'uid': 1000, 'gid': 1000},
            'args': args,
            'env': ['PATH=/usr/bin:/bin', 'LD_PRELOAD=librdma_ep.so.1'],
            'cwd': '/',
            'capabilities': none,
            'noNewPrivileges': True,
            'rlimits': [{'type': 'RLIMIT_MEMLOCK', 'soft': 65536,
                         'hard': 65536}]},
        'root': {'path': root, 'readonly': True},
        'mounts': [
            {'destination': '/proc', 'type': 'proc', 'source': 'proc'},
            {'destination': '/dev', 'type': 'tmpfs', 'source': 'tmpfs',
             'options': ['nosuid', 'mode=755', 'size=64k']}],
        'linux': {
            'namespaces': [{'type': kind} for kind in
                           ('pid', 'ipc', 'uts', 'mount', 'cgroup')],
            'devices': devices,
            'resources': {'devices': allowed}}}


def main():
    if len(sys.argv) == 3 and sys.argv[1] == 'check':
        with open(sys.argv[2], encoding='utf-8') as file:
            problems = list(check(json.load(file)))
        print('\n'.join(problems))
        sys.exit(bool(problems))
    if len(sys.argv) < 6 or sys.argv[1] != 'config':
        sys.exit(__doc__)
    with open(sys.argv[3], encoding='utf-8') as file:
        spec = json.load(file)
    json.dump(config(sys.argv[2], spec, sys.argv[4], sys.argv[5:]), sys.stdout,
              indent=2)


main()
