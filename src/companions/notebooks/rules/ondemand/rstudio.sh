# rserver asks a program whether a password, on its standard input, is right.
state=$(mktemp -d)
cat >"$state/check-password" <<END
#!/bin/sh
IFS= read -r given
[ "\$1" = "$USER" ] && [ "\$given" = "\$(cat "$BERTH_PASSWORD_FILE")" ]
END
# IPv6, too: otherwise another user of the node could listen at this port there, and get the password from the portal.
address=0.0.0.0
[ ! -s /proc/net/if_inet6 ] || [ "$(cat /proc/sys/net/ipv6/bindv6only)" != 0 ] || address=::
printf 'provider=sqlite\ndirectory=%s\n' "$state" >"$state/database.conf"
chmod 700 "$state/check-password"
exec rserver --server-daemonize=0 --server-user="$USER" --server-data-dir="$state" \
  --server-pid-file="$state/pid" --secure-cookie-key-file="$state/cookie-key" \
  --database-config-file="$state/database.conf" --www-address="$address" --www-port="$BERTH_PORT" \
  --www-root-path="$BERTH_BASE_URL" --auth-none=0 --auth-encrypt-password=0 \
  --auth-pam-helper-path="$state/check-password"
