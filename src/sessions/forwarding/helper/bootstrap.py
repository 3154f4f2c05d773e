import os, sys
wanted, text = int(sys.argv[1]), b""
while len(text) < wanted:
    part = os.read(0, wanted - len(text))
    if not part:
        sys.exit()
    text += part
exec(text)
