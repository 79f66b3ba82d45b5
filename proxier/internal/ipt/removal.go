package ipt

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/proxier/iptables"
)

// Cleanup removes all chains of a proxy, this one or kube-proxy, and the rules of
// the kernel's own chains that lead to them, also those that older versions have
// made. Rules and chains of others stay, among them those of the kubelet
// (KUBE-FIREWALL, KUBE-MARK-DROP, KUBE-KUBELET-CANARY), and so do nfacct objects.
// Each table is changed at once or not at all, and a table that fails does not
// keep the others. Errors are logged, and failed says whether there was one; it
// can be called again.
func (w *Writer) Cleanup() (failed bool) {
	for _, table := range []iptables.Table{iptables.TableNAT, iptables.TableFilter, iptables.TableMangle} {
		if err := w.cleanTable(table); err != nil {
			w.config.Logger.Error(err, "Rules of the proxy are left", "family", w.config.Tools.Protocol(), "table", table)
			failed = true
		}
	}
	return failed
}

func (w *Writer) cleanTable(table iptables.Table) error {
	var save bytes.Buffer
	if err := w.config.Tools.SaveInto(table, &save); err != nil {
		return err
	}
	own := ownChains(string(table), save.Bytes())
	if len(own) == 0 {
		return nil
	}
	r := removalOf(own, save.String())
	if err := w.config.Tools.Restore(table, r.input(table), iptables.NoFlushTables, iptables.RestoreCounters); err != nil {
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
	return fmt.Errorf("chains are emptied but kept, since foreign rules lead to them: delete these first: %s", strings.Join(rules, ", "))
}
