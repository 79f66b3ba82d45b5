package cleanup

import (
	"bytes"
	"fmt"
	"strings"

	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/proxier/internal/render"
	"github.com/chainwalk/chainwalk/proxier/iptables"
)

// Leftovers removes all chains of a proxy, and the rules of the kernel's own chains that lead to them, also those that older
// versions have made. families are the tools of each family that there is. Each table is changed at once or not at all, and a
// table that fails does not keep the others. Errors are logged, and failed says whether there was one; it can be called again.
func Leftovers(logger klog.Logger, families ...iptables.Interface) (failed bool) {
	for _, tools := range families {
		for _, table := range []iptables.Table{iptables.TableNAT, iptables.TableFilter, iptables.TableMangle} {
			if err := cleanTable(tools, table); err != nil {
				logger.Error(err, "Rules of the proxy are left", "family", tools.Protocol(), "table", table)
				failed = true
			}
		}
	}
	return failed
}

func cleanTable(tools iptables.Interface, table iptables.Table) error {
	var save bytes.Buffer
	if err := tools.SaveInto(table, &save); err != nil {
		return err
	}
	own := render.OwnChains(string(table), save.Bytes())
	if len(own) == 0 {
		return nil
	}
	r := removalOf(own, save.String())
	if err := tools.Restore(table, r.input(table), iptables.NoFlushTables, iptables.RestoreCounters); err != nil {
		return err
	}
	return r.kept()
}

// removal is what it takes to remove the proxy's chains of one table.
type removal struct {
	own []string
	// hooks are the rules of the kernel's own chains that lead to them, as saved.
	hooks []string
	// foreign are rules of other chains that lead to them, by the chain they lead to. Such a chain cannot be deleted.
	foreign map[string]string
}

// removalOf reads the text that iptables-save printed of a table.
func removalOf(own []string, save string) removal {
	r := removal{own: own, foreign: map[string]string{}}
	isOwn, builtIn := map[string]bool{}, map[string]bool{}
	for _, chain := range own {
		isOwn[chain] = true
	}
	for line := range strings.Lines(save) {
		line = strings.TrimRight(line, "\n")
		if declared, ok := strings.CutPrefix(line, ":"); ok {
			chain, policy, _ := strings.Cut(declared, " ")
			builtIn[chain] = !strings.HasPrefix(policy, "-")
			continue
		}
		chain, target := ends(line)
		switch {
		case !isOwn[target] || isOwn[chain]:
		case builtIn[chain]:
			r.hooks = append(r.hooks, line)
		default:
			r.foreign[target] = line
		}
	}
	return r
}

// ends are the chain that a saved rule is in, and the one that it leads to, if any. The target comes last: one that is a chain
// has no options.
func ends(line string) (chain, target string) {
	words := strings.Split(line, " ")
	n := len(words)
	if n < 4 || words[0] != "-A" || words[n-2] != "-j" && words[n-2] != "-g" {
		return "", ""
	}
	return words[1], words[n-1]
}

// input is the input of iptables-restore: it empties the chains, so that they do not hold each other, takes the hooks away and
// deletes the chains.
func (r *removal) input(table iptables.Table) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%s\n", table)
	for _, chain := range r.own {
		fmt.Fprintf(&b, ":%s - [0:0]\n", chain)
	}
	for _, rule := range r.hooks {
		fmt.Fprintf(&b, "-D%s\n", strings.TrimPrefix(rule, "-A"))
	}
	for _, chain := range r.own {
		if _, held := r.foreign[chain]; !held {
			fmt.Fprintf(&b, "-X %s\n", chain)
		}
	}
	b.WriteString("COMMIT\n")
	return b.Bytes()
}

// kept is the error about chains that are empty now and could not be deleted.
func (r *removal) kept() error {
	var rules []string
	for _, chain := range r.own {
		if rule, held := r.foreign[chain]; held {
			rules = append(rules, fmt.Sprintf("%q", rule))
		}
	}
	if len(rules) == 0 {
		return nil
	}
	return fmt.Errorf("chains are emptied but kept, since rules of others lead to them: delete these first: %s", strings.Join(rules, ", "))
}
