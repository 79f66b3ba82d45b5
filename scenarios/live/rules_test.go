package live

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRulesAreCompared(t *testing.T) {
	have := parseRules("*nat\n:A - [0:0]\n:B - [0:0]\n[1:2] -A A -j X\n-A A -j Y\n-A A -j Z\n-A B -j X\nCOMMIT\n")
	want := parseRules("*nat\n:A - [0:0]\n-A A -j Z\n-A A -j Y\n-A A -j W\nCOMMIT\n")
	d := compare("n", 4, have, want)
	texts := func(rules []Rule) (out []string) {
		for _, r := range rules {
			out = append(out, r.Table+" "+r.Text)
		}
		return out
	}
	assert.Equal(t, []string{"nat -A A -j W"}, texts(d.missing))
	assert.Equal(t, []string{"nat -A A -j X", "nat -A B -j X"}, texts(d.foreign))
	assert.Equal(t, []string{"nat -A A -j Y", "nat -A A -j Z"}, texts(d.moved))
}

func TestRulesSayWhoseTheyAre(t *testing.T) {
	for rule, want := range map[string]string{
		`-A KUBE-SERVICES -d 1.2.3.4/32 -p tcp -m comment --comment "shop/web:http cluster IP" -m tcp --dport 80 -j X`: "shop/web",
		`-A KUBE-SEP-X -p tcp -m comment --comment "shop/ext" -m tcp -j DNAT --to-destination 10.0.0.1:80`:             "shop/ext",
		`-A KUBE-SEP-X -p tcp -m comment --comment shop/ext:a -m tcp -j DNAT --to-destination 10.0.0.1:80`:             "shop/ext",
		`-A FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD`:                                "",
		`-A INPUT -j DROP`: "",
	} {
		assert.Equal(t, want, serviceOf(rule), rule)
	}
}
