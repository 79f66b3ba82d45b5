package print_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft/print"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// TestStatementsThatKernelsLack prints what the kernel of the tests has no modules for: nft_queue and nft_flow_offload. The words are those
// of nft 1.0.6.
func TestStatementsThatKernelsLack(t *testing.T) {
	queues := &syntax.Range{Min: num(syntax.TypeInteger, 1), Max: num(syntax.TypeInteger, 3)}
	for _, c := range []struct {
		stmt       syntax.Stmt
		text, json string
	}{
		{&syntax.QueueStmt{}, "queue to 0", `{"queue": null}`},
		{&syntax.QueueStmt{To: num(syntax.TypeInteger, 5)}, "queue to 5", `{"queue": {"num": 5}}`},
		{
			&syntax.QueueStmt{To: queues, Flags: 3}, "queue flags bypass,fanout to 1-3",
			`{"queue": {"num": {"range": [1, 3]}, "flags": ["bypass", "fanout"]}}`,
		},
		{&syntax.FlowStmt{Table: "f"}, "flow add @f", `{"flow": {"op": "add", "flowtable": "@f"}}`},
		{&syntax.XtStmt{Name: "recent"}, "xt match recent", `{"xt": {"type": "match", "name": "recent"}}`},
		{&syntax.XtStmt{Target: true, Name: "MARK", Text: "meta mark set 1"}, "meta mark set 1", `{"xt": {"type": "target", "name": "MARK"}}`},
		{&syntax.ObjectStmt{Type: expr.ObjectSecmark, Object: word("s")}, `meta secmark set "s"`, `{"secmark": "s"}`},
	} {
		got, err := print.AppendStmt(nil, c.stmt, nil)
		require.NoError(t, err)
		assert.Equal(t, c.text, string(got))
		got, err = print.AppendJSONStmt(nil, c.stmt, nil)
		require.NoError(t, err)
		assert.Equal(t, c.json, string(got))
	}
}

func TestDevices(t *testing.T) {
	hook := &syntax.HookDecl{Type: "filter", Hook: "ingress", DeviceNames: []string{"v0", "v1"}}
	table := &syntax.TableDecl{Handle: syntax.Handle{Family: nftables.Netdev, Table: "n"}}
	table.Chains = []*syntax.ChainDecl{{Handle: syntax.Handle{Chain: "c"}, Hook: hook, Flags: nftables.ChainHWOffload}}
	table.Flows = []*syntax.FlowtableDecl{{Handle: syntax.Handle{Name: "f"}, Hook: hook, Flags: 3}}
	got, err := print.AppendTable(nil, table, nil)
	require.NoError(t, err)
	assert.Equal(t, `table netdev n {
	flowtable f {
		hook ingress priority filter
		devices = { v0, v1 }
		flags offload
		counter
	}

	chain c {
		type filter hook ingress devices = { v0, v1 } priority filter; policy accept; flags offload;
	}
}
`, string(got))
}

// TestWhatHasNoWords returns an error that names what cannot be listed.
func TestWhatHasNoWords(t *testing.T) {
	for _, stmt := range []syntax.Stmt{
		&syntax.OpaqueStmt{Kind: "tunnel"}, &syntax.Match{Expr: &syntax.Meta{Key: 99}}, &syntax.Match{Expr: &syntax.CT{Key: 99}},
	} {
		_, err := print.AppendStmt(nil, stmt, nil)
		require.ErrorContains(t, err, "chainwalk does not support listing ")
		_, err = print.AppendJSONStmt(nil, stmt, nil)
		require.ErrorContains(t, err, "chainwalk does not support listing ")
	}
}
