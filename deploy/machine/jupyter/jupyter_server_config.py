"""The servers of everybody on this machine."""

c = get_config()  # noqa: F821  Jupyter provides it

# Sockets in a folder of the owner's: on ports, whoever is on the machine could read along.
c.KernelManager.transport = "ipc"
# A kernel that nobody used for half an hour gives its memory back.
c.MappingKernelManager.cull_idle_timeout = 1800
c.MappingKernelManager.cull_connected = True
c.LabApp.extension_manager = "readonly"
