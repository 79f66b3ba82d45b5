package predict

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// way is one way of a packet to an endpoint.
func way(probability float64, end scenarios.End, server string) scenarios.Way {
	return scenarios.Way{
		Probability: probability, End: end, Host: "pod " + server, Server: netip.MustParseAddrPort(server),
		Client: netip.MustParseAddrPort("10.0.0.1:40000"), Heard: end == scenarios.Delivered || end == scenarios.Refused ||
			end == scenarios.Rejected,
	}
}

func TestWhatHappenedIsHeldAgainstThePrediction(t *testing.T) {
	a, b := way(0.5, scenarios.Delivered, "10.0.1.1:80"), way(0.5, scenarios.Delivered, "10.0.1.2:80")
	masqueraded := a
	masqueraded.Client = netip.MustParseAddrPort("10.0.0.9:1234")
	otherPort := a
	otherPort.Client = netip.MustParseAddrPort("10.0.0.1:50123")
	always := func(w scenarios.Way) []scenarios.Way {
		w.Probability = 1
		return []scenarios.Way{w}
	}
	rejected, reset, dropped := way(1, scenarios.Rejected, "10.0.1.1:80"), way(1, scenarios.Refused, "10.0.1.1:80"), way(1, scenarios.Dropped,
		"10.0.1.1:80")
	rejected.With = "icmp-port-unreachable"
	unknown := rejected
	unknown.With = ""
	lost := way(1, scenarios.Lost, "10.0.1.1:80")
	beyond := lost
	beyond.Host = scenarios.RouterName
	share := func(w scenarios.Way, p float64) scenarios.Way {
		w.Probability = p
		return w
	}
	for _, row := range []struct {
		name                string
		predicted, happened []scenarios.Way
		samples             int
		wrong               string // empty: nothing is
	}{
		{"as predicted", []scenarios.Way{a, b}, []scenarios.Way{share(a, 0.45), share(b, 0.55)}, 100, ""},
		{"the client's port is any", always(a), always(otherPort), 1, ""},
		{"one that never came in few tries", []scenarios.Way{a, b}, always(a), 10, ""},
		{"one that never came in many", []scenarios.Way{a, b}, always(a), 100,
			"10.0.1.1:80, from 10.0.0.1 has the chance 0.5, and happened 100 of 100 times"},
		{"another endpoint", always(a), always(b), 1,
			"answered by pod 10.0.1.2:80 at 10.0.1.2:80, from 10.0.0.1 is what happened, and no way leads there: 1 answered by pod 10.0.1.1:80"},
		{"another endpoint, once in a hundred", always(a), []scenarios.Way{share(a, 0.99), share(b, 0.01)}, 100, "no way leads there"},
		{"another client", always(a), always(masqueraded), 1, "from 10.0.0.9 is what happened"},
		{"silence in the place of an answer", always(a), always(dropped), 1, "silent is what happened"},
		{"dropped and lost are one to the client", always(dropped), always(lost), 1, ""},
		{"refused by a rule, not by a socket", always(reset), always(rejected), 1, "refused with icmp-port-unreachable is what happened"},
		{"refused, by whom is not known", always(rejected), always(unknown), 1, ""},
		{"what leaves the cluster and is silent", always(beyond), always(lost), 1, ""},
		{"what leaves the cluster and is refused there", always(beyond), always(unknown), 1, ""},
		{"what leaves the cluster, and is answered within", always(beyond), always(a), 1, "is what happened"},
		{"what stays in the cluster", always(lost), always(rejected), 1, "is what happened"},
		{"nothing at all", always(a), nil, 1, "nothing was seen of it"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := &Forecast{proto: inet.TCP, ways: row.predicted}
			p := f.Against(&scenarios.Observed{Ways: row.happened, Samples: row.samples})
			if row.wrong == "" {
				assert.Empty(t, p.Wrong)
				return
			}
			assert.Contains(t, p.Wrong, row.wrong)
		})
	}
}

// TestAnswersAreForetoldWayByWay: who waits too short for one that comes by chance takes that way for another.
func TestAnswersAreForetoldWayByWay(t *testing.T) {
	answered, refused := way(0.5, scenarios.Delivered, "10.0.1.1:80"), way(0.5, scenarios.Rejected, "10.0.1.1:80")
	dropped, beyond := way(0.5, scenarios.Dropped, "10.0.1.1:80"), way(0.5, scenarios.Lost, "10.0.1.1:80")
	beyond.Host = scenarios.RouterName
	inVain := answered
	inVain.Heard = false
	for _, row := range []struct {
		about string
		of    Forecast
		some  bool
		all   bool
		known bool
	}{
		{"answered or refused", Forecast{ways: []scenarios.Way{answered, refused}}, true, true, true},
		{"dropped by chance", Forecast{ways: []scenarios.Way{dropped, answered}}, true, false, true},
		{"dropped", Forecast{ways: []scenarios.Way{dropped, inVain}}, false, false, true},
		{"refused, unless it leaves the cluster", Forecast{ways: []scenarios.Way{beyond, refused}}, true, false, false},
		{"who knows who is out there", Forecast{ways: []scenarios.Way{beyond}}, false, false, false},
		{"no way", Forecast{}, false, false, false},
		{"nothing is foretold", Forecast{none: "mode nftables"}, false, false, false},
	} {
		row.of.proto = inet.TCP
		some, all, known := row.of.Heard()
		assert.Equal(t, row.some, some, row.about)
		assert.Equal(t, row.all, all, row.about)
		assert.Equal(t, row.known, known, row.about)
	}
}

// TestRememberedClientsLeaveTheCountOpen: a snapshot does not say to whom a service's affinity binds a client.
func TestRememberedClientsLeaveTheCountOpen(t *testing.T) {
	a, b := way(0.5, scenarios.Delivered, "10.0.1.1:80"), way(0.5, scenarios.Delivered, "10.0.1.2:80")
	a.Forward = []scenarios.Hop{{Steps: []scenarios.TraceStep{{Rule: "-A KUBE-SEP-A -m recent --set --name A --rsource"}}}}
	j := &Judge{}
	always := a
	always.Probability = 1
	seen := &scenarios.Observed{Samples: 100, Ways: []scenarios.Way{always}}
	forecast := func(n *network) *Forecast {
		f, err := j.forecast(n, inet.TCP, func(*network) (*scenarios.Observed, error) {
			return &scenarios.Observed{Ways: []scenarios.Way{a, b}}, nil
		})
		require.NoError(t, err)
		return f
	}
	assert.NotEmpty(t, forecast(&network{}).wrong(seen))
	f := forecast(&network{remembered: []string{"node1: recent list A"}})
	assert.Empty(t, f.wrong(seen))
	always.Server = netip.MustParseAddrPort("10.0.1.3:80")
	assert.Contains(t, f.wrong(&scenarios.Observed{Samples: 100, Ways: []scenarios.Way{always}}), "no way leads there")
}

func TestFalseAlarmsAreCounted(t *testing.T) {
	a, b := way(0.5, scenarios.Delivered, "10.0.1.1:80"), way(0.5, scenarios.Delivered, "10.0.1.2:80")
	j := &Judge{}
	f := &Forecast{judge: j, proto: inet.TCP, ways: []scenarios.Way{a, b}}
	require.Empty(t, f.wrong(&scenarios.Observed{Samples: 100, Ways: []scenarios.Way{a, b}}))
	assert.InDelta(t, 4*2.87e-7, j.FalseAlarm(), 1e-12)
}
