package packetsim

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
)

// dumpHost is a host with the rules of another machine.
func dumpHost(t *testing.T, dump string) *Host {
	h, _ := testNode{}.build(t)
	config := h.Config()
	kernel, err := fakeipt.LoadSave(netfilter.IPv4, netfilter.Legacy, "dump", strings.NewReader(dump))
	require.NoError(t, err)
	config.Netfilter = kernel.Namespace()
	h, err = NewHost(config)
	require.NoError(t, err)
	return h
}

func TestMatchTime(t *testing.T) {
	rows := []struct {
		name, now, args string
		want            bool
	}{
		{"within the day", "2024-05-06T10:00:00Z", "--timestart 10:00 --timestop 11:00", true},
		{"the last second", "2024-05-06T11:00:00Z", "--timestart 10:00 --timestop 11:00", true},
		{"after it", "2024-05-06T11:00:01Z", "--timestart 10:00 --timestop 11:00", false},
		{"before midnight", "2024-05-06T23:00:00Z", "--timestart 22:00 --timestop 6:00", true},
		{"behind midnight", "2024-05-06T05:00:00Z", "--timestart 22:00 --timestop 6:00", true},
		{"not at night", "2024-05-06T12:00:00Z", "--timestart 22:00 --timestop 6:00", false},
		{"Monday", "2024-05-06T12:00:00Z", "--weekdays Mon", true},
		{"Sunday", "2024-05-05T12:00:00Z", "--weekdays Sun", true},
		{"another day of the week", "2024-05-07T12:00:00Z", "--weekdays Mon,Sun", false},
		{"not that day", "2024-05-06T12:00:00Z", "! --weekdays Mon", false},
		{"the night from Sunday is another day", "2024-05-06T05:00:00Z", "--timestart 22:00 --timestop 6:00 --weekdays Sun", false},
		{"the night from Sunday is of Sunday", "2024-05-06T05:00:00Z", "--timestart 22:00 --timestop 6:00 --weekdays Sun --contiguous", true},
		{"a day of the month", "2024-05-31T12:00:00Z", "--monthdays 1,31", true},
		{"no day of the month", "2024-05-30T12:00:00Z", "--monthdays 1,31", false},
		{"since", "2024-05-06T12:00:00Z", "--datestart 2024-05-06T12:00:00", true},
		{"not yet", "2024-05-06T11:59:59Z", "--datestart 2024-05-06T12:00:00", false},
		{"no more", "2024-05-06T12:00:01Z", "--datestop 2024-05-06T12:00:00", false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			h, clock := testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m time " + row.args + " -j DROP\nCOMMIT\n"}.build(t)
			now, err := time.Parse(time.RFC3339, row.now)
			require.NoError(t, err)
			clock.SetTime(now)
			assert.Equal(t, row.want, walkOne(t, h, tcpHTTP).Verdict == Drop)
		})
	}
	_, err := forwardHost(t, "-m time --kerneltz").Walk(parse(t, tcpHTTP))
	require.ErrorIs(t, err, errNoTimeZone)
}

func TestMatchQuota(t *testing.T) {
	const packet = "udp 10.244.0.11:1 > 10.244.0.12:9 in veth1 len "
	h := forwardHost(t, "-m quota --quota 250")
	for range 3 {
		assert.Equal(t, Drop, walkOne(t, h, packet+"100").Verdict, "nothing is kept of a walk")
	}
	assert.Equal(t, Drop, step(t, h, packet+"100").Verdict)
	assert.Equal(t, Drop, step(t, h, packet+"100").Verdict)
	assert.Equal(t, Accept, step(t, h, packet+"51").Verdict, "one byte more than what is left")
	assert.Equal(t, Accept, step(t, h, packet+"28").Verdict, "it has ended")
	inverted := forwardHost(t, "-m quota ! --quota 100")
	assert.Equal(t, Accept, step(t, inverted, packet+"100").Verdict)
	assert.Equal(t, Drop, step(t, inverted, packet+"28").Verdict)
}

func TestMatchDevgroup(t *testing.T) {
	h := forwardHost(t, "-m devgroup --src-group 0x5/0xf ! --dst-group 7")
	assert.Equal(t, Accept, walkOne(t, h, tcpHTTP).Verdict)
	config := h.Config()
	for i := range config.Devices {
		config.Devices[i].Group = map[string]uint32{"veth1": 0x15, "veth2": 6}[config.Devices[i].Name]
	}
	grouped, err := NewHost(config)
	require.NoError(t, err)
	assert.Equal(t, Drop, walkOne(t, grouped, tcpHTTP).Verdict)
}

func TestMatchCgroup(t *testing.T) {
	rows := []struct {
		args, socket string
		want         bool
		wantErr      error
	}{
		{"--path system.slice", "cgroup=/system.slice/docker", true, nil},
		{"--path system.slice", "cgroup=/system.slice", true, nil},
		{"--path system.slice", "cgroup=/system.slices", false, nil},
		{"! --path /system.slice/a", "cgroup=/system.slice", true, nil},
		{`--path ""`, "cgroup=/", true, nil},
		{"--path a", "uid=0", false, errNoCgroup},
		{"--cgroup 5", "classid=5", true, nil},
		{"! --cgroup 5", "classid=5", false, nil},
		{"--cgroup 5", "uid=0", false, errNoClassID},
		{"! --cgroup 5", "none", false, nil},
	}
	for _, row := range rows {
		t.Run(row.args+" | "+row.socket, func(t *testing.T) {
			h := dumpHost(t, "*filter\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -m cgroup "+row.args+" -j DROP\nCOMMIT\n")
			outcomes, err := h.Walk(parse(t, "udp 0.0.0.0:1 > 10.244.0.12:9 local socket "+row.socket))
			require.ErrorIs(t, err, row.wantErr)
			if err == nil {
				assert.Equal(t, row.want, outcomes[0].Verdict == Drop)
			}
		})
	}
}

func TestTargetsThatChangeNothingHere(t *testing.T) {
	for _, target := range []string{"AUDIT --type drop", "CLASSIFY --set-class 1:2", "IDLETIMER --timeout 5 --label a",
		"RATEEST --rateest-name a --rateest-interval 250ms --rateest-ewmalog 1s"} {
		h, _ := testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -j " + target + "\n-A FORWARD -j DROP\nCOMMIT\n"}.build(t)
		assert.Equal(t, Drop, walkOne(t, h, tcpHTTP).Verdict, target)
	}
	for _, target := range []string{"CONNSECMARK --save", "CONNSECMARK --restore", "SECMARK --selctx a"} {
		h := dumpHost(t, "*security\n:FORWARD ACCEPT [0:0]\n-A FORWARD -j "+target+"\n-A FORWARD -j DROP\nCOMMIT\n")
		assert.Equal(t, Drop, walkOne(t, h, tcpHTTP).Verdict, target)
	}
}

func TestMatchRealm(t *testing.T) {
	route := func(to, dev string, realms uint32) Route {
		return Route{Dst: netip.MustParsePrefix(to), Dev: dev, Realms: realms}
	}
	for _, row := range []struct {
		name, chain, args, packet string
		routes                    []Route
		want                      bool
	}{
		{"of the way on", "FORWARD", "--realm 0x5", "udp 10.244.0.11:1 > 10.8.0.1:2 in veth1", []Route{route("10.8.0.0/16", "veth2", 5)}, true},
		{"no realm", "FORWARD", "--realm 0x0", tcpHTTP, nil, true},
		{"another one", "FORWARD", "! --realm 0x5", "udp 10.244.0.11:1 > 10.8.0.1:2 in veth1", []Route{route("10.8.0.0/16", "veth2", 6)}, true},
		{"of the way back", "FORWARD", "--realm 0x60000/0xffff0000", "udp 10.7.0.1:1 > 10.8.0.1:2 in veth1",
			[]Route{route("10.8.0.0/16", "veth2", 5), route("10.7.0.0/16", "veth1", 6)}, true},
		{"the route's own source realm counts first", "FORWARD", "--realm 0x90005", "udp 10.7.0.1:1 > 10.8.0.1:2 in veth1",
			[]Route{route("10.8.0.0/16", "veth2", 9<<16|5), route("10.7.0.0/16", "veth1", 6)}, true},
		{"for the node the way back alone", "INPUT", "--realm 0x60000", "udp 10.7.0.1:1 > 192.168.0.3:2 in veth1",
			[]Route{route("10.7.0.0/16", "veth1", 6)}, true},
		{"of the node", "OUTPUT", "--realm 0x90005", "udp 192.168.0.3:1 > 10.8.0.1:2 local", []Route{route("10.8.0.0/16", "veth2", 9<<16|5)},
			true},
	} {
		t.Run(row.name, func(t *testing.T) {
			rules := "*filter\n:" + row.chain + " ACCEPT [0:0]\n-A " + row.chain + " -m realm " + row.args + " -j DROP\nCOMMIT\n"
			h, _ := testNode{rules4: rules, routes: row.routes}.build(t)
			assert.Equal(t, row.want, walkOne(t, h, row.packet).Verdict == Drop)
		})
	}
}
