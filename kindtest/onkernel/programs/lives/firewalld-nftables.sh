# firewalld with the nftables backend, over a bus of its own. It speaks to libnftables, which nobody can stand in for: a module of its name gives the same
# JSON to the program nft. What libnftables would echo, the handles of new rules, it reads from a listing: they are given in the order of the commands.
cat >/usr/lib/python3/dist-packages/nftables/nftables.py <<'END'
import json
import subprocess


def nft(*args, given=None):
    run = subprocess.run(["nft", *args], input=given, capture_output=True, text=True)
    return run.returncode, run.stdout, run.stderr


def handles():
    listed = json.loads(nft("-j", "list", "ruleset")[1])["nftables"]
    tables = {(t["family"], t["name"]): t["handle"] for t in (o["table"] for o in listed if "table" in o)}
    return {(tables[r["family"], r["table"]], r["handle"]) for r in (o["rule"] for o in listed if "rule" in o)}


class Nftables:
    def __init__(self, sofile=None):
        pass

    def set_echo_output(self, on):
        pass

    def set_handle_output(self, on):
        pass

    def json_cmd(self, root):
        before = handles()
        status, _, said = nft("-j", "-f", "-", given=json.dumps(root))
        if status != 0:
            return status, "", said
        new = iter(sorted(handles() - before))
        for command in root["nftables"]:
            for what in ("add", "insert"):
                if "rule" in command.get(what, {}):
                    command[what]["rule"]["handle"] = next(new)[1]
        return status, root, said
END
c() { firewall-cmd "$@" || echo "firewall-cmd $*: $?"; }

firewalld_bus nftables
firewalld_start
phase start

c --zone=public --add-interface=eth0
c --zone=internal --add-interface=eth1
phase interfaces

c --zone=public --add-service=http
c --zone=public --add-port=8000-8010/tcp
c --zone=public --add-port=5000/udp --timeout=600
c --zone=public --add-protocol=esp
c --zone=public --add-source-port=68/udp
c --zone=public --add-icmp-block=echo-request
c --zone=public --add-icmp-block-inversion
c --zone=public --add-forward
c --zone=trusted --add-source=203.0.113.0/24
c --zone=drop --add-source=2001:db8:bad::/48
phase services

c --zone=public --add-masquerade
c --zone=public --add-forward-port=port=8080:proto=tcp:toport=80:toaddr=10.10.10.5
c --zone=public --add-forward-port=port=2222:proto=tcp:toport=22
phase nat

c --zone=public --add-rich-rule='rule family=ipv4 source address=198.51.100.0/24 service name=ssh log prefix="ssh: " level=info limit value=3/m accept'
c --zone=public --add-rich-rule='rule family=ipv4 source address=198.51.100.66 reject type=icmp-admin-prohibited'
c --zone=public --add-rich-rule='rule family=ipv6 source address=2001:db8:bad::/48 drop'
c --zone=public --add-rich-rule='rule priority=-5 protocol value=igmp accept'
c --zone=public --add-rich-rule='rule family=ipv4 source address=203.0.113.0/24 mark set=0x10/0xff'
phase rich-rules

c --permanent --new-ipset=bad --type=hash:net
c --permanent --ipset=bad --add-entry=198.51.100.128/25
c --permanent --zone=drop --add-source=ipset:bad
c --permanent --new-policy=out
c --permanent --policy=out --add-ingress-zone=internal
c --permanent --policy=out --add-egress-zone=public
c --permanent --policy=out --set-target=ACCEPT
c --reload
c --ipset=bad --add-entry=192.0.2.128/25
c --ipset=bad --remove-entry=198.51.100.128/25
phase sets-and-policies

c --panic-on
phase panic
c --panic-off
phase calm

c --zone=public --remove-service=http
c --zone=public --remove-masquerade
c --complete-reload
phase reloaded

firewalld_stop
phase stopped
