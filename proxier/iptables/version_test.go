package iptables

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseVersion(t *testing.T) {
	rows := []struct {
		name, output string
		want         toolVersion
		wantErr      string
	}{
		{name: "legacy", output: "iptables v1.8.9 (legacy)\n", want: toolVersion{1, 8, 9, dialectLegacy}},
		{name: "nf_tables of IPv6", output: "ip6tables v1.8.10 (nf_tables)\n", want: toolVersion{1, 8, 10, dialectNFT}},
		{name: "before dialects had names", output: "iptables v1.6.2\n", want: toolVersion{1, 6, 2, dialectLegacy}},
		{name: "four numbers", output: "iptables v1.4.19.1\n", want: toolVersion{1, 4, 19, dialectLegacy}},
		{name: "two numbers", output: "iptables v1.9 (nf_tables)\n", want: toolVersion{1, 9, 0, dialectNFT}},
		{name: "suffix of a distribution", output: "iptables v1.8.4-15.el8 (nf_tables)", want: toolVersion{1, 8, 4, dialectNFT}},
		{name: "a warning first", output: "# Warning: something (legacy)\niptables v1.8.7 (nf_tables)\n", want: toolVersion{1, 8, 7,
			dialectNFT}},
		{name: "brackets on the next line", output: "iptables v1.8.7\n(nf_tables)\n", want: toolVersion{1, 8, 7, dialectLegacy}},
		{name: "nothing", output: "", wantErr: "no version"},
		{name: "another program", output: "Try --help\n", wantErr: "is this iptables?"},
		{name: "number too large", output: "iptables v1.99999999999999999999.0", wantErr: "value out of range"},
		{name: "unknown dialect", output: "iptables v2.0.0 (ebpf)", wantErr: `unknown dialect "ebpf"`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got, err := parseVersion(row.output)
			if row.wantErr != "" {
				require.ErrorContains(t, err, row.wantErr)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, row.want, got)
		})
	}
}

func TestVersionUsable(t *testing.T) {
	rows := []struct {
		version, wantErr string
	}{
		{version: "v1.4.10", wantErr: "1.4.10 (legacy) is not supported: it has no -C"},
		{version: "v1.4.11"},
		{version: "v1.8.0 (nf_tables)"},
		{version: "v1.8.1 (nf_tables)", wantErr: "install iptables 1.8.3"},
		{version: "v1.8.2 (nf_tables)", wantErr: "use the legacy tools"},
		{version: "v1.8.2 (legacy)"},
		{version: "v1.8.3 (nf_tables)"},
		{version: "v2.0.0 (nf_tables)"},
	}
	for _, row := range rows {
		t.Run(row.version, func(t *testing.T) {
			version, err := parseVersion("iptables " + row.version)
			require.NoError(t, err)
			if err := version.usable(); row.wantErr != "" {
				require.ErrorContains(t, err, row.wantErr)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

func FuzzParseVersion(f *testing.F) {
	for _, seed := range []string{"iptables v1.8.9 (legacy)", "ip6tables v1.8.10 (nf_tables)\n", "v1.4.19.1", "v1", "v.1.", "v1.8 ("} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, output string) {
		version, err := parseVersion(output)
		if err != nil {
			return
		}
		again, err := parseVersion("iptables v" + version.String())
		require.NoError(t, err)
		assert.Equal(t, version, again)
	})
}
