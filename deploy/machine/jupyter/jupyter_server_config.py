"""Settings for every Jupyter server on this machine."""

c = get_config()  # noqa: F821  Jupyter provides it

# Kernels use sockets in the owner's folder, because other accounts could eavesdrop on ports.
c.KernelManager.transport = "ipc"
# Stop kernels that have been idle for half an hour, to free their memory.
c.MappingKernelManager.cull_idle_timeout = 1800
c.MappingKernelManager.cull_connected = True
c.LabApp.extension_manager = "readonly"
