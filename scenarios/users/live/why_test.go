package live

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

const (
	aClient = "pod/shop/one-78b79d6f88-h7zhv"
	web     = "svc/shop/web:http"
)

// whyText is why as text.
func whyText(t *testing.T, w *Why) string {
	var b strings.Builder
	require.NoError(t, w.WriteText(&b))
	return b.String()
}

// policy gives a chain of the nodes' IPv4 tables the policy DROP.
func policy(table, chain string) func(*testing.T, *Cluster) {
	return func(t *testing.T, c *Cluster) {
		for _, taken := range c.Snapshots {
			edit(t, taken, netfilter.IPv4, "*"+table, "*"+table) // the family is the first of the table
			for i := range taken.IPTables {
				if r := &taken.IPTables[i]; r.Family == netfilter.IPv4 {
					head, body, _ := strings.Cut(r.Save, "*"+table+"\n")
					r.Save = head + "*" + table + "\n" + strings.Replace(body, ":"+chain+" ACCEPT", ":"+chain+" DROP", 1)
				}
			}
		}
	}
}

func TestWhyNamesWhatStops(t *testing.T) {
	sysctl := func(key, value string) func(*testing.T, *Cluster) {
		return func(_ *testing.T, c *Cluster) {
			for _, taken := range c.Snapshots {
				for own := range taken.Sysctls {
					if strings.HasSuffix(own, key) {
						taken.Sysctls[own] = value
					}
				}
			}
		}
	}
	for _, row := range []struct {
		name     string
		from, to string
		fault    func(*testing.T, *Cluster)
		code     cause.Code
		says     string
	}{
		{"nothing", aClient, web, func(*testing.T, *Cluster) {}, "", "yes: "},
		{"policy of FORWARD", aClient, web, policy("filter", "FORWARD"), cause.Policy, "iptables -t filter -P FORWARD DROP"},
		{"policy of mangle", aClient, web, policy("mangle", "POSTROUTING"), cause.Policy, "iptables -t mangle -P POSTROUTING DROP"},
		{"policy of INPUT", aClient, "node/demo-worker:10250", policy("filter", "INPUT"), cause.Policy, "iptables -t filter -P INPUT DROP"},
		{"ip_forward", aClient, web, func(t *testing.T, c *Cluster) { sysctl("ip_forward", "0")(t, c); sysctl(".forwarding", "0")(t, c) },
			cause.ForwardingOff, "net.ipv4.ip_forward = 0"},
		{"a rule of somebody else", aClient, web, func(t *testing.T, c *Cluster) {
			for _, taken := range c.Snapshots {
				edit(t, taken, netfilter.IPv4, "-A FORWARD -m comment", "-A FORWARD -p tcp -m tcp --dport 8080 -j DROP\n[0:0] -A FORWARD -m comment")
			}
		}, cause.ForeignDrop, "-A FORWARD -p tcp -m tcp --dport 8080 -j DROP"},
		{"a redirect before kube-proxy's rules", aClient, web, func(t *testing.T, c *Cluster) {
			for _, taken := range c.Snapshots {
				edit(t, taken, netfilter.IPv4, "-A PREROUTING -m comment",
					"-A PREROUTING -p tcp -m tcp --dport 80 -j REDIRECT --to-ports 15001\n[0:0] -A PREROUTING -m comment")
			}
		}, cause.ForeignNAT, "REDIRECT --to-ports 15001"},
		{"a service without ready endpoints", aClient, "svc/shop/empty", func(*testing.T, *Cluster) {}, cause.SelectsNothing,
			"service shop/empty"},
		{"a port that the service does not have", aClient, "svc/shop/web:81", func(*testing.T, *Cluster) {}, cause.NoSuchPort, "it has"},
		{"no way in from outside", "outside", "svc/shop/itp-local", func(*testing.T, *Cluster) {}, cause.NoService, "of type ClusterIP"},
		{"no kube-proxy", aClient, web, func(_ *testing.T, c *Cluster) {
			for _, taken := range c.Snapshots {
				taken.IPTables = nil
			}
		}, cause.NoProxyRules, "no rules of kube-proxy"},
	} {
		t.Run(row.name, func(t *testing.T) {
			of := small
			if row.code == cause.SelectsNothing {
				of = recorded // which has such a service
			}
			c := of(t, "legacy", dumpNodes...)
			row.fault(t, c)
			w, err := c.Why(t.Context(), row.from, row.to)
			require.NoError(t, err)
			text := whyText(t, w)
			assert.Contains(t, text, row.says)
			if row.code == "" {
				assert.Equal(t, WhyYes, w.Answer, text)
				return
			}
			assert.Equal(t, WhyNo, w.Answer, text)
			require.NotEmpty(t, w.Causes, text)
			assert.Equal(t, row.code, w.Causes[0].Code, text)
			assert.Contains(t, w.Sentence, string(row.code))
		})
	}
}

func TestWhyIsUnknownWhereANodeIs(t *testing.T) {
	c := recorded(t, "legacy", "demo-worker2")
	w, err := c.Why(t.Context(), "node/demo-worker", web)
	require.NoError(t, err)
	assert.Equal(t, WhyUnknown, w.Answer)
	assert.Contains(t, w.Sentence, "there is no snapshot of it")
}

// TestWhySaysADoubtOnce: the first one is in the answer, and each has a line with its code and what settles it.
func TestWhySaysADoubtOnce(t *testing.T) {
	c := recorded(t, "legacy", dumpNodes...)
	for i, taken := range c.Snapshots {
		taken.Sysctls = nil
		var text bytes.Buffer
		require.NoError(t, taken.Write(&text, snapshot.YAML))
		var err error
		c.Snapshots[i], err = snapshot.Read(taken.Hostname, &text)
		require.NoError(t, err)
	}
	w, err := c.Why(t.Context(), aClient, web)
	require.NoError(t, err)
	require.Equal(t, WhyUnknown, w.Answer)
	require.Greater(t, len(w.Doubts), 1)
	assert.Equal(t, cause.Unread, w.Causes[0].Code, "programs find them among the causes")
	text := whyText(t, w)
	for _, d := range w.Doubts {
		assert.Equal(t, 1, strings.Count(text, "\nundecided (CW903): unless "+d.Unless+"; see: "+d.See+"\n"), text)
	}
	assert.NotContains(t, text, "decided by: ")
}

func TestAWayThatGoesRoundIsToldInALine(t *testing.T) {
	assert.Equal(t, "a > b > c", hostsText([]string{"a", "b", "c"}))
	assert.Equal(t, "a > a > a > a > a > a > and so on (64 hosts)", hostsText(slices.Repeat([]string{"a"}, 64)))
}

// TestAMatrixHasTheFirstCausesOfEachCode: a service without an address for clients outside is nothing that anybody looks for twelve times.
func TestAMatrixHasTheFirstCausesOfEachCode(t *testing.T) {
	c := recorded(t, "legacy", dumpNodes...)
	m, err := c.Matrix(t.Context())
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, m.WriteText(&b))
	assert.Equal(t, 3, strings.Count(b.String(), "is of type ClusterIP"), b.String())
	assert.Regexp(t, `(?m)^CW508: and \d+ more \(-o json\)$`, b.String())
}

func TestWhyRefusesEndsThatAreNot(t *testing.T) {
	c := recorded(t, "legacy", "demo-worker")
	for _, row := range []struct{ from, to, says string }{
		{"pod/shop/nobody", web, "pod/shop/nobody: no pod has that name: the objects have"},
		{"svc/shop/web", web, "svc/shop/web: a service opens no connections"},
		{aClient, "svc/shop/nothing", "svc/shop/nothing: no service has that name"},
		{aClient, "10.0.0.1:0", "a port is a number from 1 to 65535"},
		{aClient, "here", `"here" is no end of a connection: write svc/`},
		{aClient, "node/demo-worker:http", "http is no number"},
	} {
		_, err := c.Why(t.Context(), row.from, row.to)
		assert.ErrorContains(t, err, row.says)
	}
}

func TestMatrix(t *testing.T) {
	c := recorded(t, "legacy", "demo-worker")
	m, err := c.Matrix(t.Context())
	require.NoError(t, err)
	require.Len(t, m.Rows, len(m.From))
	for _, row := range m.Rows {
		require.Len(t, row, len(m.To))
	}
	empty, client := slices.Index(m.To, "svc/shop/empty"), slices.IndexFunc(m.From,
		func(f string) bool { return strings.HasPrefix(f, "node/demo-worker") })
	require.GreaterOrEqual(t, empty, 0)
	assert.Equal(t, []cause.Code{cause.SelectsNothing}, m.Rows[client][empty].Codes)
	var b strings.Builder
	require.NoError(t, m.WriteCSV(&b))
	assert.Contains(t, b.String(), "node/demo-worker,")
	assert.False(t, m.AllYes())
	clients := m.Clients()
	require.Len(t, clients, len(m.From))
	assert.Less(t, clients[client].Reached, clients[client].Of)
	assert.Contains(t, clients[client].Stopped, MatrixStop{Word: "CW503", Colour: "bad", Ends: []string{"svc/shop/empty"}})
}

// An end of the other family has no address to call, which is known and is no fault.
func TestMatrixOfEndsOfOtherFamilies(t *testing.T) {
	c := recorded(t, "legacy", dumpNodes...)
	c.Objects = slices.DeleteFunc(slices.Clone(c.Objects), func(o manifest.Object) bool {
		switch object := o.Object.(type) {
		case *corev1.Service:
			return object.Name != "six"
		case *corev1.Pod:
			return !strings.HasPrefix(object.Name, "one-")
		case *discoveryv1.EndpointSlice:
			return object.AddressType == discoveryv1.AddressTypeIPv6
		}
		return false
	})
	for i := range c.Objects { // the pods have IPv4 alone, and the service IPv6
		if pod, is := c.Objects[i].Object.(*corev1.Pod); is {
			pod = pod.DeepCopy()
			pod.Status.PodIPs = slices.DeleteFunc(pod.Status.PodIPs, func(ip corev1.PodIP) bool { return strings.Contains(ip.IP, ":") })
			c.Objects[i].Object = pod
		}
	}
	m, err := c.Matrix(t.Context())
	require.NoError(t, err)
	service := slices.Index(m.To, "svc/shop/six")
	client := slices.IndexFunc(m.From, func(f string) bool { return strings.HasPrefix(f, "pod/shop/one-") })
	cell := &m.Rows[client][service]
	assert.Equal(t, Cell{Answer: "no address", Why: m.From[client] + " and svc/shop/six have no address of one family"}, *cell)
	var text, table, document strings.Builder
	require.NoError(t, m.WriteText(&text))
	assert.Regexp(t, "(?m)^"+m.From[client]+" +- ", text.String())
	assert.Contains(t, text.String(), "\n-: no address of this family\n")
	require.NoError(t, m.WriteCSV(&table))
	assert.Contains(t, table.String(), m.From[client]+",no address of this family,")
	require.NoError(t, m.WriteJSON(&document))
	assert.Contains(t, document.String(), `"answer": "no address"`)
	row := m.Clients()[client]
	assert.Equal(t, len(m.To)-1, row.Of)
	assert.Contains(t, row.Stopped, MatrixStop{Word: "no address of this family", Colour: "none", Ends: []string{"svc/shop/six"}})
	for i := range m.Rows {
		for k := range m.Rows[i] {
			m.Rows[i][k] = *cell
		}
	}
	assert.True(t, m.AllYes(), "nobody can call, and nothing is wrong")
}
