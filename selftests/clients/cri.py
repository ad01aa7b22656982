#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A client of the Container Runtime Interface, runtime.v1: the calls of a kubelet.

usage: cri.py SOCKET

Each line of stdin is a request, METHOD and JSON with the names of the interface. Its answer is
a line of JSON, or "!" and the error. Of the interface only what a pod of these tests has is
here: other fields of a request are an error, other fields of an answer are not printed.
"""

import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format
try:
    from google.protobuf.message_factory import GetMessageClass
except ImportError:
    from google.protobuf.message_factory import MessageFactory
    GetMessageClass = MessageFactory().GetPrototype

# MESSAGE: its fields, NAME=NUMBER:TYPE. A type with a * is repeated; a map has strings as keys and
# values.
MESSAGES = '''
VersionRequest: version=1:string
VersionResponse: version=1:string runtime_name=2:string runtime_version=3:string
Int64Value: value=1:int64
NamespaceOption: network=1:enum.NamespaceMode pid=2:enum.NamespaceMode ipc=3:enum.NamespaceMode
SecurityProfile: profile_type=1:enum.ProfileType localhost_ref=2:string
LinuxSandboxSecurityContext: namespace_options=1:NamespaceOption run_as_user=3:Int64Value \
 run_as_group=8:Int64Value readonly_rootfs=4:bool privileged=6:bool seccomp=9:SecurityProfile
LinuxPodSandboxConfig: cgroup_parent=1:string security_context=2:LinuxSandboxSecurityContext
PodSandboxMetadata: name=1:string uid=2:string namespace=3:string attempt=4:uint32
PodSandboxConfig: metadata=1:PodSandboxMetadata hostname=2:string log_directory=3:string \
 labels=6:map annotations=7:map linux=8:LinuxPodSandboxConfig
RunPodSandboxRequest: config=1:PodSandboxConfig runtime_handler=2:string
RunPodSandboxResponse: pod_sandbox_id=1:string
StopPodSandboxRequest: pod_sandbox_id=1:string
StopPodSandboxResponse:
RemovePodSandboxRequest: pod_sandbox_id=1:string
RemovePodSandboxResponse:
ImageSpec: image=1:string
KeyValue: key=1:string value=2:string
Mount: container_path=1:string host_path=2:string readonly=3:bool
Device: container_path=1:string host_path=2:string permissions=3:string
CDIDevice: name=1:string
Capability: add_capabilities=1:string* drop_capabilities=2:string*
LinuxContainerResources: memory_limit_in_bytes=4:int64
LinuxContainerSecurityContext: capabilities=1:Capability privileged=2:bool \
 namespace_options=3:NamespaceOption run_as_user=5:Int64Value run_as_group=12:Int64Value \
 readonly_rootfs=7:bool no_new_privs=11:bool masked_paths=13:string* \
 readonly_paths=14:string* seccomp=15:SecurityProfile
LinuxContainerConfig: resources=1:LinuxContainerResources \
 security_context=2:LinuxContainerSecurityContext
ContainerMetadata: name=1:string attempt=2:uint32
ContainerConfig: metadata=1:ContainerMetadata image=2:ImageSpec command=3:string* \
 args=4:string* working_dir=5:string envs=6:KeyValue* mounts=7:Mount* devices=8:Device* \
 labels=9:map annotations=10:map log_path=11:string linux=15:LinuxContainerConfig \
 CDI_devices=17:CDIDevice*
CreateContainerRequest: pod_sandbox_id=1:string config=2:ContainerConfig \
 sandbox_config=3:PodSandboxConfig
CreateContainerResponse: container_id=1:string
StartContainerRequest: container_id=1:string
StartContainerResponse:
ContainerStatusRequest: container_id=1:string
ContainerStatus: id=1:string state=3:enum.ContainerState exit_code=7:int32 reason=10:string \
 message=11:string
ContainerStatusResponse: status=1:ContainerStatus
'''
ENUMS = {
    'NamespaceMode': ('POD', 'CONTAINER', 'NODE', 'TARGET'),
    'ProfileType': ('RuntimeDefault', 'Unconfined', 'Localhost'),
    'ContainerState': ('CONTAINER_CREATED', 'CONTAINER_RUNNING', 'CONTAINER_EXITED',
                       'CONTAINER_UNKNOWN'),
}
PACKAGE = 'runtime.v1'


def add_map(message, field, name):
    entry = message.nested_type.add(name=name.title().replace('_', '') + 'Entry')
    entry.options.map_entry = True
    for number, key in enumerate(('key', 'value'), 1):
        entry.field.add(name=key, number=number, type=field.TYPE_STRING,
                        label=field.LABEL_OPTIONAL)
    field.label = field.LABEL_REPEATED
    field.type = field.TYPE_MESSAGE
    field.type_name = f'.{PACKAGE}.{message.name}.{entry.name}'


def add_field(message, text):
    name, text = text.split('=')
    number, kind = text.split(':')
    field = message.field.add(name=name, number=int(number), json_name=name)
    field.label = field.LABEL_REPEATED if kind.endswith('*') else field.LABEL_OPTIONAL
    kind = kind.rstrip('*')
    if kind == 'map':
        add_map(message, field, name)
    elif kind.startswith('enum.'):
        field.type = field.TYPE_ENUM
        field.type_name = f'.{PACKAGE}.{kind[5:]}'
    elif kind[0].isupper():
        field.type = field.TYPE_MESSAGE
        field.type_name = f'.{PACKAGE}.{kind}'
    else:
        field.type = getattr(field, 'TYPE_' + kind.upper())


def pool():
    file = descriptor_pb2.FileDescriptorProto(name='cri', package=PACKAGE,
                                              syntax='proto3')
    for name, values in ENUMS.items():
        enum = file.enum_type.add(name=name)
        for number, value in enumerate(values):
            enum.value.add(name=value, number=number)
    for line in MESSAGES.replace('\\\n', '').split('\n'):
        if line:
            name, fields = line.split(':', 1)
            message = file.message_type.add(name=name)
            for text in fields.split():
                add_field(message, text)
    made = descriptor_pool.DescriptorPool()
    made.Add(file)
    return made


def call(channel, messages, method, request):
    def message(name):
        return GetMessageClass(messages.FindMessageTypeByName(f'{PACKAGE}.{name}'))

    function = channel.unary_unary(
        f'/{PACKAGE}.RuntimeService/{method}',
        request_serializer=lambda m: m.SerializeToString(),
        response_deserializer=message(method + 'Response').FromString)
    answer = function(json_format.Parse(request, message(method + 'Request')()),
                      timeout=120, wait_for_ready=True)
    return json_format.MessageToJson(answer, preserving_proto_field_name=True, indent=None)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    channel = grpc.insecure_channel(f'unix://{sys.argv[1]}')
    messages = pool()
    for line in sys.stdin:
        method, request = line.split(' ', 1)
        try:
            answer = call(channel, messages, method, request)
        except (grpc.RpcError, json_format.ParseError) as error:
            text = getattr(error, 'details', lambda error=error: str(error))()
            answer = f'! {method}: {" ".join(text.split())}'
        print(answer, flush=True)


main()
