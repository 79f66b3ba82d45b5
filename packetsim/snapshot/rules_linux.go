package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/chainwalk/chainwalk/netfilter"
)

// rules reads what each backend holds for each family. Both are read: the kernel runs both.
func (t *taker) rules() {
	for _, family := range bothFamilies() {
		t.rulesOfFamily(family)
	}
	t.nativeTables()
	t.order()
}

func (t *taker) rulesOfFamily(family netfilter.Family) {
	for _, dialect := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		if err := t.rulesOf(dialect, family); err != nil {
			if dialect == netfilter.NFT {
				t.showNone(family)
			}
			t.unread(fmt.Sprintf("IPv%d rules of the %s backend", family, dialect), "%v", err)
		}
	}
}

func (t *taker) rulesOf(dialect netfilter.Dialect, family netfilter.Family) error {
	if dialect == netfilter.Legacy {
		if holds, err := t.legacyHolds(family); err != nil || !holds {
			return err
		}
	}
	tool, err := t.saveTool(dialect, family)
	if err != nil {
		if dialect == netfilter.NFT && !t.moduleLoaded("nf_tables") {
			return nil
		}
		return err
	}
	save, err := t.run(tool, "-c")
	if err != nil {
		return err
	}
	t.nftAsked = t.nftAsked || dialect == netfilter.NFT
	if !utf8.ValidString(save) {
		return errors.New("not supported: the rules hold bytes that are not UTF-8")
	}
	t.foreignTables(save, family)
	if strings.HasPrefix(save, "*") || strings.Contains(save, "\n*") {
		t.snapshot.IPTables = append(t.snapshot.IPTables, Rules{Dialect: dialect, Family: family, Save: save})
	}
	return nil
}

// foreignTables keeps the tables that iptables-nft-save cannot show: it says so in comments. Those of which it only leaves chains out it
// shows.
func (t *taker) foreignTables(save string, family netfilter.Family) {
	for line := range strings.SplitSeq(save, "\n") {
		name, why, found := strings.Cut(strings.TrimPrefix(line, "# Table `"), "' ")
		if found && strings.HasPrefix(line, "# Table `") && strings.HasPrefix(why, "is incompatible") {
			t.cannotShow(family, name, strings.TrimPrefix(line, "# "))
		}
	}
}

// showNone keeps that no table of the nft backend was shown.
func (t *taker) showNone(family netfilter.Family) {
	for _, name := range tablesOfIPTables {
		t.cannotShow(family, name, "iptables-nft-save does not show it")
	}
}

func (t *taker) cannotShow(family netfilter.Family, table, why string) {
	if t.unshown == nil {
		t.unshown = map[nftTableID]string{}
	}
	t.unshown[nftTableID{uint8(nfprotoOf(family)), table}] = why
}

// legacyHolds says whether the namespace has legacy tables. Saving would make those that are not
// there: the tool asks for each, and the kernel then loads it.
func (t *taker) legacyHolds(family netfilter.Family) (bool, error) {
	name := "ip_tables_names"
	if family == netfilter.IPv6 {
		name = "ip6_tables_names"
	}
	data, err := os.ReadFile(t.netFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return false, fmt.Errorf("%w: run as root", err)
	}
	return len(bytes.TrimSpace(data)) > 0, err
}

// saveTool finds the save program of a backend: by its own name, else the plain one if that is
// of this backend.
func (t *taker) saveTool(dialect netfilter.Dialect, family netfilter.Family) (string, error) {
	prefix := "iptables"
	if family == netfilter.IPv6 {
		prefix = "ip6tables"
	}
	own, plain := prefix+"-"+string(dialect)+"-save", prefix+"-save"
	if _, err := t.exec.LookPath(own); err == nil {
		return own, nil
	}
	if _, err := t.exec.LookPath(plain); err != nil {
		return "", fmt.Errorf("neither %s nor %s is installed: %w", own, plain, err)
	}
	version, err := t.run(plain, "-V")
	if err != nil {
		return "", err
	}
	// Versions before 1.8 have one backend and do not name it.
	plainDialect := netfilter.Legacy
	if strings.Contains(version, "nf_tables") {
		plainDialect = netfilter.NFT
	}
	if plainDialect != dialect {
		return "", fmt.Errorf("%s is not installed, and %s is of the other backend (%s)", own, plain, strings.TrimSpace(version))
	}
	return plain, nil
}

// run gives what a tool prints, or an error with what it says on stderr.
func (t *taker) run(tool string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := t.exec.CommandContext(t.ctx, tool, args...)
	cmd.SetStdout(&stdout)
	cmd.SetStderr(&stderr)
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(append([]string{tool}, args...), " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// rulesMention says whether a rule uses a match or target, given as "-m NAME" or "-j NAME".
func (t *taker) rulesMention(word string) bool {
	for i := range t.snapshot.IPTables {
		if strings.Contains(t.snapshot.IPTables[i].Save, " "+word+" ") {
			return true
		}
	}
	return false
}

// ipsets are read where rules ask for them or the module is there: the tool would load it.
func (t *taker) ipsets() {
	if !t.rulesMention("-m set") && !t.rulesMention("-j SET") && !t.moduleLoaded("ip_set") {
		return
	}
	if save, ok := t.object("ipsets", "ipset", "save"); ok {
		t.snapshot.IPSets = save
	}
}

// nfacct objects are read under the same condition as ipsets.
func (t *taker) nfacct() {
	if !t.rulesMention("-m nfacct") && !t.moduleLoaded("nfnetlink_acct") {
		return
	}
	list, ok := t.object(UnreadNFAcct, "nfacct", "list")
	if !ok {
		return
	}
	objects, err := ParseNFAcct(list)
	if err != nil {
		t.unread(UnreadNFAcct, "%v", err)
	}
	t.snapshot.NFAcct = objects
}

// object runs a tool that lists kernel objects.
func (t *taker) object(what, tool string, args ...string) (string, bool) {
	if _, err := t.exec.LookPath(tool); err != nil {
		t.unread(what, "%s is not installed: %v", tool, err)
		return "", false
	}
	list, err := t.run(tool, args...)
	if err != nil {
		t.unread(what, "%v", err)
		return "", false
	}
	return list, true
}
