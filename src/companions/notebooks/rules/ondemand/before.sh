# OnDemand sources this file in the job, and makes connection.yml of host, port and password afterwards.
port=$(find_port "$host")
password=$(create_passwd 32)
salt=$(create_passwd 16)
export BERTH_PORT="$port" BERTH_BASE_URL="/$BERTH_PROXY/$host/$port/"
digest=$(printf %s "$password$salt" | sha256sum)
export BERTH_PASSWORD_HASH="sha256:$salt:${digest%% *}" BERTH_PASSWORD_FILE=/ood/password
(umask 077 && printf %s "$password" >password)
