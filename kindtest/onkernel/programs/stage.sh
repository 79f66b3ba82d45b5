# The first process of a life, in namespaces of its own: stage.sh ROOT FOLDER KUBERNETES.
# ROOT is an installation of Debian, which stays as it is. FOLDER is the life's, where mnt is empty and shared is what the life has in
# /chainwalk. KUBERNETES is where programs of Kubernetes are, or empty.
set -eu
root=$1 folder=$2 kubernetes=$3 new=$2/mnt/root
dialect=$(cat "$folder/shared/dialect")

mount --make-rprivate /
mount -t tmpfs chainwalk "$folder/mnt"
mkdir "$folder/mnt/upper" "$folder/mnt/work" "$new"
mount -t overlay -o "lowerdir=$root,upperdir=$folder/mnt/upper,workdir=$folder/mnt/work" chainwalk "$new"
mount -t proc proc "$new/proc"
mount -t sysfs -o ro sysfs "$new/sys"
# An engine for containers looks whether there are control groups, though it has no container.
groups=$new/sys/fs/cgroup devices=/sys/fs/cgroup
if [ -d /sys/fs/cgroup/devices ]; then
	mount -t tmpfs cgroup "$groups"
	mkdir "$groups/devices"
	groups=$groups/devices devices=$devices/devices
fi
mount --bind $devices "$groups"
mount -o remount,bind,ro "$groups"
mount -t tmpfs run "$new/run"
mount -t tmpfs tmp "$new/tmp"
mount -t tmpfs dev "$new/dev"
for device in null zero full random urandom tty; do
	: >"$new/dev/$device"
	mount --bind "/dev/$device" "$new/dev/$device"
done
ln -s /proc/self/fd "$new/dev/fd"
ln -s /proc/self/fd/0 "$new/dev/stdin"
mkdir "$new/dev/shm" "$new/dev/pts" "$new/run/lock"
# Of the machine's settings those of the network alone can be written: they are the namespace's.
mkdir "$folder/mnt/net"
mount --bind "$new/proc/sys/net" "$folder/mnt/net"
mount --bind "$new/proc/sys" "$new/proc/sys"
mount -o remount,bind,ro "$new/proc/sys"
mount --bind "$folder/mnt/net" "$new/proc/sys/net"

mkdir "$new/chainwalk"
mount --bind "$folder/shared" "$new/chainwalk"
if [ -n "$kubernetes" ]; then
	mount --bind "$kubernetes" "$new/opt"
fi

mv "$new/usr/sbin/ipset" "$new/usr/sbin/nfacct" "$new/usr/sbin/nft" "$folder/shared/real/"
for family in iptables ip6tables; do
	for kind in '' -save -restore; do
		ln -s "/usr/sbin/xtables-$dialect-multi" "$folder/shared/real/$family$kind"
		ln -sf /chainwalk/recorder "$new/usr/sbin/$family$kind"
		for named in legacy nft; do
			ln -s "/usr/sbin/xtables-$named-multi" "$folder/shared/real/$family-$named$kind"
			ln -sf /chainwalk/recorder "$new/usr/sbin/$family-$named$kind"
		done
	done
done
ln -s /chainwalk/recorder "$new/usr/sbin/ipset"
ln -s /chainwalk/recorder "$new/usr/sbin/nfacct"
ln -s /chainwalk/recorder "$new/usr/sbin/nft"
ln -s /chainwalk/recorder "$new/usr/sbin/phase"

# Two sides for what has interfaces in its configuration. Nobody is there, and the kernel has nothing to say to them by itself.
ip link set lo up
for device in eth0 eth1; do
	ip link add "$device" type bridge mcast_snooping 0
	ip link set "$device" addrgenmode none
done
ip addr add 192.0.2.1/24 dev eth0
ip addr add 10.10.10.254/24 dev eth1
ip addr add 2001:db8::1/64 dev eth0 nodad
ip addr add fd00:10::254/64 dev eth1 nodad
ip link set eth0 up
ip link set eth1 up
ip route add default via 192.0.2.254 dev eth0
ip route add default via 2001:db8::fe dev eth0

cd "$new/chainwalk"
exec chroot "$new" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 sh -eu /chainwalk/life
