# What every life begins with.

# await COMMAND...: waits until the command succeeds, for five minutes at most.
await() {
	tries=0
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		if [ $tries -gt 3000 ]; then
			echo "five minutes have passed, and this does not succeed: $*" >&2
			return 1
		fi
		sleep 0.1
	done
}

# real TOOL ARGS...: asks the real kernel, and nobody compares it.
real() {
	tool=$1
	shift
	"/chainwalk/real/$tool" "$@"
}

# shows TEXT TOOL ARGS..., lacks TEXT TOOL ARGS...: what the real tool prints has the text in it, or has not.
shows() {
	text=$1
	shift
	real "$@" | grep -qF -e "$text"
}

lacks() { ! shows "$@"; }

# firewalld_bus [BACKEND]: a message bus, and the backend of firewalld: iptables if none is named. firewalld_start, firewalld_stop: its daemon.
firewalld_bus() {
	mkdir -p /run/dbus /run/firewalld
	dbus-uuidgen --ensure
	dbus-daemon --system --fork --nopidfile
	sed -i "s/^FirewallBackend=.*/FirewallBackend=${1:-iptables}/" /etc/firewalld/firewalld.conf
}
firewalld_start() {
	firewalld --nofork --nopid >>/chainwalk/firewalld 2>&1 &
	firewalld_pid=$!
	await firewall-cmd --state
}
firewalld_stop() {
	kill $firewalld_pid
	wait $firewalld_pid || true
}
