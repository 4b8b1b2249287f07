"""Types lines into an interactive bash in a pseudo-terminal, with foretell's completions loaded.

    type_in_bash.py DIRECTORY-OF-FORETELL LINE...

A line may hold tabs. Prints each line as bash has completed it.
"""

import os
import pty
import select
import sys
import time

directory, lines = sys.argv[1], sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(PATH=directory + ":" + os.environ["PATH"], PS1="$ ", TERM="dumb", COLUMNS="200")
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])

seen = ""


def read_until(mark, seconds=20.0):
    """What comes until `mark` does."""
    global seen
    end = time.monotonic() + seconds
    while mark not in seen:
        if time.monotonic() > end:
            sys.exit(f"{mark!r} did not come; there was {seen!r}")
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 65536).decode(errors="replace")
    before, seen = seen.split(mark, 1)
    return before


def type_in(text):
    os.write(terminal, text.encode())


# readline is to print nothing but what is asked for
type_in("bind 'set bell-style none'; bind 'set enable-bracketed-paste off'; stty -echo\n")
type_in("source <(foretell completions bash)\n")
# in place of running a line, this prints it
type_in("shown() { printf '<%s>\\n' \"$READLINE_LINE\"; }; bind -x '\"\\C-g\": shown'; printf 're%s\\n' ady\n")
read_until("ready")
for line in lines:
    for part in line.replace("\t", "\t\0").split("\0"):
        type_in(part)
        # completion reads ahead of nothing: bash works through what is typed in order
    type_in("\x07")
    read_until("<")
    print(read_until(">"))
    type_in("\x15")
type_in("exit\n")
