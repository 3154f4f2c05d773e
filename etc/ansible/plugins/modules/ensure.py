#!/usr/bin/python
"""Runs a command only if a check says that it is needed, so that --check and a second run tell the truth."""

from __future__ import annotations

import os

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: ensure
short_description: Run a command if a check says that it is needed
description:
  - Runs the command O(check) first. It must change nothing, and exit with 0 if nothing needs to be done.
  - Otherwise runs O(command), then O(check) again, which must then exit with 0.
  - In check mode only O(check) runs, and the task is reported as changed if it does not exit with 0.
author: The authors of Berth (@berth)
options:
  check:
    description: Program and arguments that tell whether something is to be done.
    type: list
    elements: str
    required: true
  command:
    description: Program and arguments that do it.
    type: list
    elements: str
    required: true
  needed_rc:
    description: Exit statuses of O(check) that mean that O(command) is needed. Without it, every status but 0 does.
    type: list
    elements: int
    default: []
  creates_program:
    description:
      - In check mode, if the program of O(check) does not exist, because an earlier task would install it, the task is
        reported as changed.
    type: bool
    default: true
attributes:
  check_mode:
    description: Runs only O(check).
    support: full
  diff_mode:
    description: Shows what O(check) prints.
    support: full
"""

EXAMPLES = r"""
- name: Images are in the shared store
  berth.berth.ensure:
    check: [/usr/lib/berth/berth, images, check]
    command: [/usr/lib/berth/berth, images, pull]
"""

RETURN = r"""
stdout:
  description: What O(command) printed; without a run, what O(check) printed.
  returned: always
  type: str
"""


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "check": {"type": "list", "elements": "str", "required": True},
            "command": {"type": "list", "elements": "str", "required": True},
            "needed_rc": {"type": "list", "elements": "int", "default": []},
            "creates_program": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    check, command = module.params["check"], module.params["command"]
    shown = " ".join(command)
    if module.check_mode and module.params["creates_program"] and not os.path.exists(check[0]):
        note = f"{check[0]} is not installed yet\n"
        module.exit_json(changed=True, stdout="", diff={"prepared": f"{note}+ {shown}\n"})

    rc, out, err = module.run_command(check)
    if rc == 0:
        module.exit_json(changed=False, stdout=out)
    needed = module.params["needed_rc"]
    if needed and rc not in needed:
        module.fail_json(msg=f"{' '.join(check)} exited with {rc}", rc=rc, stdout=out, stderr=err)
    diff = {"prepared": f"{(out + err).rstrip()}\n+ {shown}\n"}
    if module.check_mode:
        module.exit_json(changed=True, stdout=out, diff=diff)

    rc, done, err = module.run_command(command)
    if rc != 0:
        module.fail_json(msg=f"{shown} exited with {rc}", rc=rc, stdout=done, stderr=err)
    rc, out, err = module.run_command(check)
    if rc != 0:
        msg = f"{' '.join(check)} still exits with {rc} after {shown}"
        module.fail_json(msg=msg, rc=rc, stdout=out, stderr=err)
    module.exit_json(changed=True, stdout=done, diff=diff)


if __name__ == "__main__":
    main()
