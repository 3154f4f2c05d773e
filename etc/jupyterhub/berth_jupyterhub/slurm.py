"""A spawner that starts notebook servers as jobs of the user in Slurm, in the container of a profile."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Coroutine
from html import escape
from typing import Any

from batchspawner import SlurmSpawner
from batchspawner.api import BatchSpawnerAPIHandler
from batchspawner.batchspawner import JobStatus
from jupyterhub.apihandlers import APIHandler, default_handlers
from tornado.web import HTTPError, authenticated
from traitlets import List, Unicode

from .account import AccountError, look_up, look_up_for_form, on_one_line
from .profiles import allowed_profiles, chosen_profile
from .relay import Relay, new_certificate

#: What is read of a command that runs as a user, who may have it write for ever. Bytes.
LONGEST_OUTPUT = 65536

#: How long Slurm may take to answer. Its own MessageTimeout is 10 s by default, and its programs try again. Seconds.
LONGEST_SECONDS = 60.0

#: How often a job is looked at that has not told its port. Seconds.
WATCH_SECONDS = 2.0


class _Environment(dict[str, str]):
    """Variables of which a log shows the names."""

    def __repr__(self) -> str:
        return str(sorted(self))


class BerthSlurmSpawner(SlurmSpawner):
    """batchspawner's spawner for Slurm with Berth's profiles.

    The hub's account submits no script of its own: by sudo, it may submit the site's script of a profile as a member of the
    profile's groups, ask for their jobs, and cancel such a job. What a server needs to know is in variables `JUPYTERHUB_*`.
    """

    berth_socket = Unicode("/run/berth/hub.sock", help="Socket of hub-bootstrap.").tag(config=True)
    berth_profiles = List(help="What `berth render jupyterhub` writes.").tag(config=True)
    req_jobs = Unicode("/etc/jupyterhub/berth-jobs", help="Directory of the scripts, PROFILE.sh.").tag(config=True)
    req_profile = Unicode(help="The chosen profile.")
    berth_relays = Unicode("berth-relays", help="Directory of the sockets by which the proxy reaches servers.").tag(config=True)

    exec_prefix = Unicode("").tag(config=True)
    batch_submit_cmd = Unicode(
        "sudo --non-interactive --user={username} /usr/bin/sbatch --parsable {jobs}/{profile}.sh"
    ).tag(config=True)
    # As the user: with PrivateData=jobs, slurmctld says of others' jobs that they do not exist.
    batch_query_cmd = Unicode(
        "sudo --non-interactive --user={username} /usr/bin/squeue --me --noheader -o '%T %B' --jobs={job_id}"
    ).tag(config=True)
    batch_cancel_cmd = Unicode("sudo --non-interactive --user={username} /bin/sh {jobs}/end {job_id}").tag(config=True)
    # An answer that is no state is not the end of the job, unless Slurm does not know the job.
    state_unknown_re = Unicode(r"\A(?!.*Invalid job id)").tag(config=True)
    # batchspawner's needs exponential time for some texts, and the user can change what squeue(1) writes.
    state_exechost_re = Unicode(r"\A\S+ (\w[\w.-]{0,252})\s*\Z").tag(config=True)

    #: Where the server listens.
    ip: str
    port: int

    #: The certificate of the server's start, its key until the job is submitted, and the way to whoever has that.
    _certificate = ""
    _key = ""
    _relay: Relay | None = None

    #: The command that did not answer, a process of asyncio.
    _unanswered: Any = None

    async def options_form(self, spawner: Any) -> str:
        """A list of the user's profiles."""
        account = await look_up_for_form(self.berth_socket, self.user.name)
        choices = "".join(
            f'<option value="{escape(one.name)}">{escape(one.name)}: {escape(one.description)}</option>'
            for one in allowed_profiles(self.berth_profiles, account)
        )
        return f'<label for="profile">Profile</label><select class="form-select" id="profile" name="profile">{choices}</select>'

    def options_from_form(self, formdata: dict[str, list[str]]) -> dict[str, str]:
        """What the form sends."""
        return {name: values[0] for name, values in formdata.items() if name == "profile" and values}

    async def start(self) -> str:
        """Submits the job of the chosen profile, and waits until its server has a port."""
        account = await look_up(self.berth_socket, self.user.name)
        self.req_profile = chosen_profile(self.berth_profiles, account, self.user_options.get("profile")).name
        self._certificate, self._key = new_certificate()
        await self._while_running(super().start())
        self.ip = await reachable_address(self.ip)
        return self._open_relay().url

    def _open_relay(self) -> Relay:
        self._relay = Relay(self.berth_relays, self.ip, self.port, self._certificate)
        return self._relay

    async def submit_batch_script(self) -> str:
        """Submits the script, or shows what sbatch(1) says."""
        try:
            job: str = await super().submit_batch_script()
            return job
        except RuntimeError as error:
            raise AccountError(f"the job could not be submitted: {error}", "hub-job-failed") from error
        finally:
            self._key = ""

    async def run_command(self, cmd: str, input: str | None = None, env: dict[str, str] | None = None) -> str:
        """As batchspawner's, which reads whatever the command writes, and waits for ever. Raises RuntimeError with its error output."""
        if self._unanswered is not None and self._unanswered.returncode is None:
            raise RuntimeError("an earlier command has not ended")
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_shell(cmd, env=env, stdin=pipe, stdout=pipe, stderr=pipe)
        try:
            return await asyncio.wait_for(_answer(process, input or ""), LONGEST_SECONDS)
        except asyncio.TimeoutError as error:
            self._unanswered = process
            raise RuntimeError(f"no answer within {LONGEST_SECONDS:g} s") from error
        finally:
            # It has no public one. The command of another user cannot be killed, but not write any more.
            process._transport.close()  # type: ignore[attr-defined]

    def get_env(self) -> dict[str, str]:
        """The environment of sbatch(1), with the server's token and key. batchspawner logs it at the level DEBUG."""
        identity = base64.b64encode(f"{self._key}{self._certificate}".encode()).decode()
        return _Environment({**super().get_env(), "JUPYTERHUB_SERVER_IDENTITY": identity})

    async def _while_running(self, starting: Coroutine[Any, Any, tuple[str, int]]) -> tuple[str, int]:
        """batchspawner would wait for the port until `start_timeout`, also for a job that has ended."""
        task = asyncio.ensure_future(starting)
        try:
            while not (await asyncio.wait({task}, timeout=WATCH_SECONDS))[0]:
                if self.job_id and not self.port and await self.query_job_status() == JobStatus.NOTFOUND:
                    raise RuntimeError("the job has ended")
            return task.result()
        except RuntimeError as error:
            message = f"the job ended before its server started: see berth-hub-{self.req_profile}.log in your home"
            raise AccountError(message, "hub-job-failed") from error
        finally:
            task.cancel()

    def use_port(self, port: int) -> None:
        """The server listens at this port of its node."""
        self.port = port

    def get_state(self) -> dict[str, Any]:
        """The job, its profile, and its server's address and certificate."""
        state: dict[str, Any] = super().get_state()
        own = {"profile": self.req_profile, "node": self.ip, "port": self.port, "certificate": self._certificate}
        return {**state, **own}

    def load_state(self, state: dict[str, Any]) -> None:
        """After a restart of the hub."""
        super().load_state(state)
        self.req_profile = state.get("profile", "")
        self._certificate = state.get("certificate", "")
        if not self._certificate:
            # A server of an earlier release: nothing tells it from another one at its port.
            self.job_id = ""
        elif self.job_id:
            self.ip, self.port = state["node"], state["port"]
            self._open_relay()

    def clear_state(self) -> None:
        """After the end of the job."""
        super().clear_state()
        if self._relay is not None:
            self._relay.close()
            self._relay = None


async def _answer(process: asyncio.subprocess.Process, given: str) -> str:
    assert process.stdin and process.stdout and process.stderr
    process.stdin.write(given.encode())
    process.stdin.close()
    output, errors = await asyncio.gather(_bounded(process.stdout), _bounded(process.stderr))
    if await process.wait() != 0:
        raise RuntimeError(errors)
    return output


async def _bounded(stream: asyncio.StreamReader) -> str:
    text = b""
    while part := await stream.read(LONGEST_OUTPUT):
        text += part
        if len(text) > LONGEST_OUTPUT:
            raise RuntimeError(f"the command wrote more than {LONGEST_OUTPUT} bytes")
    return on_one_line(text.decode(errors="replace").strip())


async def reachable_address(node: str) -> str:
    """A node's name if this host can resolve it, else NodeAddr of slurm.conf, as for SSH sessions. Raises AccountError `slurm-node-unreachable`."""
    try:
        await asyncio.get_running_loop().getaddrinfo(node, None)
        return node
    except OSError:
        command = ("/usr/bin/timeout", "--signal=KILL", f"{LONGEST_SECONDS:g}", "/usr/bin/scontrol", "show", "node", node)
        asked = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        address = re.search(rb"\bNodeAddr=(\S+)", (await asked.communicate())[0])
        if address is None or address[1].decode() == node:
            message = f"this hub cannot resolve the name of the compute node {node}, and Slurm has no other address"
            raise AccountError(message, "slurm-node-unreachable")
        return address[1].decode()


class PortHandler(APIHandler):
    """Takes the port of a server that starts, and nothing else.

    batchspawner's own handler sets whatever attribute of the spawner a server names, also the commands that the hub runs.
    """

    @authenticated
    def post(self) -> None:
        """`{"port": PORT}` with the token of the server."""
        token = self.get_auth_token()
        spawners = self.current_user.spawners.values() if token else ()
        spawner = next((one for one in spawners if one.api_token == token and one.pending == "spawn"), None)
        port = (self.get_json_body() or {}).get("port")
        if spawner is None or type(port) is not int or not 1024 <= port <= 65535:
            raise HTTPError(400, "no starting server has this token, or the port is not from 1024 to 65535")
        spawner.use_port(port)
        self.set_status(201)


default_handlers[:] = [one for one in default_handlers if one[1] is not BatchSpawnerAPIHandler]
default_handlers.append((r"/api/batchspawner", PortHandler))
