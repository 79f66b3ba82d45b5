package jsontext_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft/jsontext"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// BenchmarkCommands reads 60,000 rules and elements.
func BenchmarkCommands(b *testing.B) {
	var text strings.Builder
	text.WriteString(`{"nftables": [{"table": {"family": "ip", "name": "kube-proxy", "handle": 1}}`)
	for i := range 10000 {
		fmt.Fprintf(&text, `, {"element": {"family": "ip", "table": "kube-proxy", "name": "service-ips", "elem": [[{"concat": `+
			`["172.30.%d.%d", "tcp", 80]}, {"goto": {"target": "service-%d"}}]]}}`, i/256, i%256, i)
		for range 5 {
			fmt.Fprintf(&text, `, {"rule": {"family": "ip", "table": "kube-proxy", "chain": "service-%d", "handle": 5, "expr": [{"match": `+
				`{"op": "==", "left": {"payload": {"protocol": "ip", "field": "daddr"}}, "right": "10.0.0.1"}}, {"goto": {"target": "x"}}]}}`, i)
		}
	}
	text.WriteString("]}")
	in := &syntax.Input{Name: "x", Text: text.String()}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		commands, mistakes, isJSON := jsontext.Commands(in)
		require.True(b, isJSON)
		require.Empty(b, mistakes)
		require.Len(b, commands, 60001)
	}
}
