package fakenft

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFlowtables is about flowtables by the words of the kernel (nf_tables_api.c, nft_flow_offload.c) and of nft's own tests: the kernel
// that answers the other tests has none.
func TestFlowtables(t *testing.T) {
	const listed = `table inet t {
	flowtable f {
		hook ingress priority filter
		devices = { lo }
		flags offload
	}

	flowtable g {
		hook ingress priority filter + 5
		devices = { eth0, eth1 }
		counter
	}

	chain c {
		type filter hook forward priority filter; policy accept;
		meta l4proto { tcp, udp } flow add @f
	}
}
`
	tools := New(Options{})
	ask := func(command string) (string, string) {
		var stdout, stderr bytes.Buffer
		status := tools.Run([]string{"nft", "-f", "-"}, strings.NewReader(command+"\n"), &stdout, &stderr)
		assert.Equal(t, stderr.Len() > 0, status != 0, command)
		return stdout.String(), stderr.String()
	}
	_, wrong := ask(`table inet t {
	flowtable f { hook ingress priority 0; devices = { lo }; flags offload; }
	flowtable g { hook ingress priority 5; devices = { eth0, "eth1" }; counter; }
	chain c { type filter hook forward priority 0; meta l4proto { tcp, udp } flow add @f; }
}`)
	require.Empty(t, wrong)
	for _, row := range []struct{ command, says, wrong string }{
		{"list ruleset", listed, ""},
		{"list flowtable inet t f", "table inet t {\n\tflowtable f {\n\t\thook ingress priority filter\n\t\tdevices = { lo }\n" +
			"\t\tflags offload\n\t}\n}\n", ""},
		{"delete flowtable inet t f", "", "Could not process rule: Device or resource busy"},
		{"delete flowtable inet t nope", "", "Could not process rule: No such file or directory"},
		{"create flowtable inet t f { hook ingress priority 0; devices = { lo }; }", "", "Could not process rule: File exists"},
		{"add flowtable inet t h { hook ingress priority 0; devices = { lo }; }", "", "Could not process rule: File exists"},
		{"add flowtable inet t f { hook ingress priority 1; devices = { lo }; }", "", "Could not process rule: Operation not supported"},
		{"add rule inet t c flow add @nope", "", "Could not process rule: No such file or directory"},
		{"add chain inet t d { type filter hook input priority 0; }\nadd rule inet t d flow add @g", "",
			"Could not process rule: Operation not supported"},
		{"add table bridge b\nadd flowtable bridge b f { hook ingress priority 0; devices = { lo }; }", "",
			"Could not process rule: No such file or directory"},
		{"delete flowtable inet t g { hook ingress priority 5; devices = { eth0 }; }", "",
			"chainwalk does not support deleting devices of flowtables"},
		{"list ruleset", listed, ""},
		{"add flowtable inet t g { hook ingress priority 5; devices = { eth2 }; counter; }", "", ""},
		{"flush chain inet t c\ndelete flowtable inet t f", "", ""},
		{"list flowtables", "table inet t {\n\tflowtable g {\n\t\thook ingress priority filter + 5\n" +
			"\t\tdevices = { eth0, eth1, eth2 }\n\t\tcounter\n\t}\n}\n", ""},
	} {
		says, wrong := ask(row.command)
		assert.Equal(t, row.says, says, row.command)
		if row.wrong == "" {
			assert.Empty(t, wrong, row.command)
		} else {
			assert.Contains(t, wrong, "Error: "+row.wrong+"\n", row.command)
		}
	}
	written := tools.Kernel().AppendState(nil)
	again := New(Options{})
	_, err := again.Kernel().ReadState(written)
	require.NoError(t, err)
	assert.Equal(t, written, again.Kernel().AppendState(nil))
}

// TestNewerListingOfFlowtables loads what nft 1.1 prints.
func TestNewerListingOfFlowtables(t *testing.T) {
	const listing = "table ip t {\n\tflowtable f {\n\t\thook ingress priority filter\n\t\tdevices = { \"lo\" }\n\t}\n\n" +
		"\tchain c {\n\t\tflow add @f\n\t}\n}\n"
	tools := New(Options{})
	require.NoError(t, tools.Load("listing", strings.NewReader(listing), nil))
	flowtables := tools.Kernel().State().Tables()[0].Flowtables()
	require.Len(t, flowtables, 1)
	assert.Equal(t, []string{"lo"}, flowtables[0].Devices)
}
