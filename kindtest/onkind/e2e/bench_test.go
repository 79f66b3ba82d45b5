package main

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
)

func TestClustersOfARun(t *testing.T) {
	for about, row := range map[string]struct {
		change func(*options)
		want   []string
	}{
		"side by side":         {func(*options) {}, []string{" 3 0", "chainwalk-beside 1 0"}},
		"one after the other":  {func(o *options) { o.single = true }, []string{" 3 0"}},
		"changes have but one": {func(o *options) { o.only = partChanges }, []string{" 3 0"}},
	} {
		o := options{workers: 3, folder: "out", proxy: cluster.Chainwalk, mode: "iptables", tool: "nft", family: "dual"}
		row.change(&o)
		configs, err := (&run{options: &o, out: &bytes.Buffer{}}).clusters("own", "own")
		require.NoError(t, err, about)
		var got, folders []string
		for _, c := range configs {
			got, folders = append(got, fmt.Sprintf("%s %d %d", c.Name, c.Workers, c.Pool)), append(folders, c.Artifacts)
		}
		assert.Equal(t, row.want, got, about)
		assert.Len(t, slices.Compact(folders), len(configs), "what is kept of each is apart")
	}
}
