package proxier_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/exec"
	fakeexec "k8s.io/utils/exec/testing"

	"github.com/chainwalk/chainwalk/proxier"
)

func TestNFAcctTool(t *testing.T) {
	works := fakeexec.FakeAction(func() ([]byte, []byte, error) { return nil, nil, nil })
	fails := fakeexec.FakeAction(func() ([]byte, []byte, error) {
		return []byte("nfacct: Operation not permitted\n"), nil, fakeexec.FakeExitError{Status: 1}
	})
	get, add := []string{"nfacct", "get", "drops"}, []string{"nfacct", "add", "drops"}
	tests := []struct {
		name    string
		actions []fakeexec.FakeAction
		want    [][]string
		err     string
	}{
		{"the object is there", []fakeexec.FakeAction{works}, [][]string{get}, ""},
		{"the object is made", []fakeexec.FakeAction{fails, works}, [][]string{get, add}, ""},
		{"the object cannot be made", []fakeexec.FakeAction{fails, fails}, [][]string{get, add},
			"nfacct add drops: exit 1: nfacct: Operation not permitted"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var run [][]string
			tool := &fakeexec.FakeExec{}
			for _, action := range test.actions {
				command := &fakeexec.FakeCmd{CombinedOutputScript: []fakeexec.FakeAction{action}}
				tool.CommandScript = append(tool.CommandScript, func(name string, args ...string) exec.Cmd {
					run = append(run, append([]string{name}, args...))
					return fakeexec.InitFakeCmd(command, name, args...)
				})
			}
			err := proxier.NFAcctTool{Exec: tool}.Ensure("drops")
			assert.Equal(t, test.want, run)
			if test.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, test.err)
			}
		})
	}
}
