package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vishvananda/netlink"
	"k8s.io/utils/exec"
)

// Take reads the network namespace that the calling thread is in. The tools (iptables
// and its twins, ipset, nfacct) are run by execer, everything else is read by netlink and from
// /proc. It needs no privileges by itself: what cannot be read without them, or without a tool,
// is listed in Unread with the reason. It loads no iptables table that was not there before.
func Take(ctx context.Context, execer exec.Interface) (*NodeSnapshot, error) {
	// Namespaces belong to threads, and a tool inherits the one of the thread that starts it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	handle, err := netlink.NewHandle()
	if err != nil {
		return nil, fmt.Errorf("take snapshot: open netlink: %w", err)
	}
	defer handle.Close()
	t := &taker{ctx: ctx, exec: execer, netlink: handle, proc: "/proc", sys: "/sys", lib: "/lib", snapshot: &NodeSnapshot{Version: Version}}
	return t.take()
}

// taker fills a snapshot part by part.
type taker struct {
	ctx       context.Context
	exec      exec.Interface
	netlink   *netlink.Handle
	proc, sys string // where those file systems are mounted
	lib       string // the folder that holds modules/RELEASE
	snapshot  *NodeSnapshot
	nftAsked  bool // a tool has asked the kernel for nftables tables
	// unshown are tables with names of iptables' that iptables-nft-save did not show, and why.
	unshown map[nftTableID]string
}

func (t *taker) take() (*NodeSnapshot, error) {
	hostname, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("take snapshot: hostname: %w", err)
	}
	t.snapshot.Hostname = hostname
	// Without devices nothing else can be understood; any other part may be missing.
	if err := t.devices(); err != nil {
		return nil, fmt.Errorf("take snapshot: %w", err)
	}
	t.routes()
	t.policyRules()
	t.sysctls()
	t.rules()
	t.conntrack()
	t.ipsets()
	t.nfacct()
	t.recentLists()
	if err := t.ctx.Err(); err != nil {
		return nil, fmt.Errorf("take snapshot: %w", err)
	}
	t.snapshot.keepReadable()
	if err := t.snapshot.check(); err != nil {
		return nil, fmt.Errorf("take snapshot: the machine says what a snapshot cannot hold: %w", err)
	}
	return t.snapshot, nil
}

func (t *taker) unread(what, format string, args ...any) {
	t.snapshot.Unread = append(t.snapshot.Unread, Unread{What: what, Why: fmt.Sprintf(format, args...)})
}

// dump repeats a netlink listing that changed while it was read.
func dump[T any](list func() ([]T, error)) ([]T, error) {
	const tries = 5
	var items []T
	var err error
	for range tries {
		if items, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return items, err
		}
	}
	return nil, err
}

// netFile is a file of /proc/net as the calling thread's namespace has it.
func (t *taker) netFile(name string) string {
	return filepath.Join(t.proc, "thread-self", "net", name)
}

// moduleLoaded says whether a kernel module is loaded. A kernel that cannot load modules has all that it can do built in, and asking it
// loads nothing; a built-in module without parameters has no place in /sys.
func (t *taker) moduleLoaded(name string) bool {
	if _, err := os.Stat(filepath.Join(t.proc, "modules")); errors.Is(err, os.ErrNotExist) {
		return true
	}
	if _, err := os.Stat(filepath.Join(t.sys, "module", name)); err == nil {
		return true
	}
	return t.builtIn(name)
}

// builtIn looks the module up in the list that comes with a kernel that can load modules.
func (t *taker) builtIn(name string) bool {
	release, err := os.ReadFile(filepath.Join(t.proc, "sys/kernel/osrelease"))
	if err != nil {
		return false
	}
	list, err := os.ReadFile(filepath.Join(t.lib, "modules", strings.TrimSpace(string(release)), "modules.builtin"))
	return err == nil && strings.Contains(string(list), "/"+name+".ko")
}

// recentLists says which lists of "-m recent" hold addresses, since a snapshot has no place for them.
func (t *taker) recentLists() {
	dir := t.netFile("xt_recent")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		t.unread("recent lists", "%v", err)
		return
	}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		switch {
		case err != nil:
			t.unread("recent list "+entry.Name(), "%v", err)
		case len(data) > 0:
			t.snapshot.Unread = append(t.snapshot.Unread, recentUnread(entry.Name(), strings.Count(string(data), "\n")))
		}
	}
}
