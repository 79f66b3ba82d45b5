package knft_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/exec"
	"sigs.k8s.io/knftables"

	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/fakenft/knft"
)

// asked is what a program can ask an interface for.
type asked struct {
	what string
	ask  func(ctx context.Context, nft knftables.Interface) (any, error)
}

func run(what string, fill func(tx *knftables.Transaction)) asked {
	return asked{what, func(ctx context.Context, nft knftables.Interface) (any, error) {
		tx := nft.NewTransaction()
		fill(tx)
		return nil, nft.Run(ctx, tx)
	}}
}

func check(what string, fill func(tx *knftables.Transaction)) asked {
	return asked{what, func(ctx context.Context, nft knftables.Interface) (any, error) {
		tx := nft.NewTransaction()
		fill(tx)
		return nil, nft.Check(ctx, tx)
	}}
}

// Calls of the methods that list.
var listAll = asked{"list all", func(ctx context.Context, nft knftables.Interface) (any, error) { return nft.ListAll(ctx) }}

func list(objectType string) asked {
	return asked{"list " + objectType, func(ctx context.Context, nft knftables.Interface) (any, error) { return nft.List(ctx, objectType) }}
}

var listCounters = asked{"list counters", func(ctx context.Context, nft knftables.Interface) (any, error) { return nft.ListCounters(ctx) }}

func listElements(objectType, name string) asked {
	return asked{"list elements of " + objectType + " " + name, func(ctx context.Context, nft knftables.Interface) (any, error) {
		return nft.ListElements(ctx, objectType, name)
	}}
}

// listRules leaves the family and the table out, which the library has since v0.0.22.
func listRules(chain string) asked {
	return asked{"list rules of " + chain, func(ctx context.Context, nft knftables.Interface) (any, error) {
		rules, err := nft.ListRules(ctx, chain)
		for _, r := range rules {
			r.Family, r.Table = "", ""
		}
		return rules, err
	}}
}

// everything asks for all that can be listed by the names that are given.
func everything(chains, sets, maps []string) []asked {
	all := []asked{listAll, list("chain"), list("sets"), list("maps"), list("counter"), list("flowtables"), listCounters, listRules("")}
	for _, name := range chains {
		all = append(all, listRules(name))
	}
	for _, name := range sets {
		all = append(all, listElements("set", name))
	}
	for _, name := range maps {
		all = append(all, listElements("map", name))
	}
	return all
}

// answer is what an interface gave.
type answer struct {
	Result               any
	Error                string
	NotFound, Exists, Ok bool
}

func answerOf(nft knftables.Interface, a asked) answer {
	result, err := a.ask(context.Background(), nft)
	if err != nil {
		return answer{Error: err.Error(), NotFound: knftables.IsNotFound(err), Exists: knftables.IsAlreadyExists(err)}
	}
	return answer{Result: result, Ok: true}
}

// pair is the library on the real nft, and knft on the fake one.
type pair struct{ real, fake knftables.Interface }

func newPair(t testing.TB, family knftables.Family, table string, options ...knftables.Option) pair {
	theirs, err := knftables.New(family, table, options...)
	require.NoError(t, err)
	ours, err := knft.New(fakenft.New(fakenft.Options{}).Exec(), family, table, options...)
	require.NoError(t, err)
	return pair{theirs, ours}
}

// same asks both, and says whether they answered the same.
func (p pair) same(t assert.TestingT, a asked) bool {
	return assert.Equal(t, answerOf(p.real, a), answerOf(p.fake, a), "the library on the real nft, and knft: %s", a.what)
}

// recorder writes down what is run, and what is given to it.
type recorder struct {
	exec.Interface
	calls, inputs []string
}

func (r *recorder) CommandContext(ctx context.Context, name string, args ...string) exec.Cmd {
	r.calls = append(r.calls, strings.Join(append([]string{path.Base(name)}, args...), " "))
	r.inputs = append(r.inputs, "")
	return &recordedCmd{r.Interface.CommandContext(ctx, name, args...), r}
}

type recordedCmd struct {
	exec.Cmd
	by *recorder
}

func (c *recordedCmd) SetStdin(in io.Reader) {
	text, err := io.ReadAll(in)
	if err != nil {
		panic(err)
	}
	c.by.inputs[len(c.by.inputs)-1] = string(text)
	c.Cmd.SetStdin(bytes.NewReader(text))
}

// absent is a machine without nft.
type absent struct{ exec.Interface }

var errAbsent = errors.New("executable file not found in $PATH")

func (absent) LookPath(string) (string, error) { return "", errAbsent }
