package scenarios

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
)

// seen is a run of one file with a check for each text, made with both variants of the tools.
func seen(file string, got ...string) *Result {
	r := &Result{File: file}
	for _, tool := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		for i, text := range got {
			r.Checks = append(r.Checks, Check{At: file + ":1", Name: "c", Packet: "p", Step: i, Got: text, Passed: true, Dialect: tool})
		}
	}
	return r
}

func TestCompareTellsWhatChanges(t *testing.T) {
	for name, row := range map[string]struct {
		before, after []*Result
		want          []string // FILE TOOLS: before > after
	}{
		"nothing":            {[]*Result{seen("a", "x", "x")}, []*Result{seen("a", "x", "x")}, nil},
		"one packet of two":  {[]*Result{seen("a", "x", "y")}, []*Result{seen("a", "x", "z")}, []string{"a legacy and -nft: y > z"}},
		"a run that ended":   {[]*Result{seen("a", "x", "y")}, []*Result{seen("a", "x")}, []string{"a legacy and -nft: y > "}},
		"a run that goes on": {[]*Result{seen("a", "x")}, []*Result{seen("a", "x", "y")}, []string{"a legacy and -nft:  > y"}},
		"two files": {[]*Result{seen("b", "x"), seen("a", "x")}, []*Result{seen("b", "y"), seen("a", "y")},
			[]string{"a legacy and -nft: x > y", "b legacy and -nft: x > y"}},
		"the order of a rerun": {[]*Result{seen("b", "x"), seen("a", "x")}, []*Result{seen("a", "x"), seen("b", "x")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := Compare(row.before, row.after)
			require.NoError(t, err)
			var got []string
			text := func(f *Fate) string {
				if f == nil {
					return ""
				}
				return f.Got
			}
			for _, c := range found.Changes {
				got = append(got, c.File+" "+c.Tools+": "+text(c.Before)+" > "+text(c.After))
			}
			assert.Equal(t, row.want, got)
		})
	}
	_, err := Compare(nil, nil)
	assert.ErrorIs(t, err, ErrNothingRun)
}

func TestCompareKeepsVariantsApartThatDiffer(t *testing.T) {
	before, after := seen("a", "x"), seen("a", "x")
	after.Checks[1].Got = "y"
	found, err := Compare([]*Result{before}, []*Result{after})
	require.NoError(t, err)
	require.Len(t, found.Changes, 1)
	assert.Equal(t, "nft", found.Changes[0].Tools)
	assert.Equal(t, 2, found.Checks)
}

func TestComparisonTellsTheFirstChanges(t *testing.T) {
	c := &Comparison{Files: 9, Changes: make([]Change, 12)}
	var few, all strings.Builder
	require.NoError(t, c.WriteText(&few, "a", "b", false))
	require.NoError(t, c.WriteText(&all, "a", "b", true))
	assert.Contains(t, few.String(), "\nand 2 more (-v)\n")
	assert.Equal(t, 10, strings.Count(few.String(), "a: did not come to it"))
	assert.Equal(t, 12, strings.Count(all.String(), "a: did not come to it"))
}
