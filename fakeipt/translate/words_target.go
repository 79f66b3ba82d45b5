package translate

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// nat is where a translation of addresses leads to, and how.
func nat(r *netfilter.NATRange) string {
	text := ""
	if r.MinAddr.IsValid() {
		text = string(libc.AppendInetNtop(nil, r.MinAddr))
		if r.MaxAddr != r.MinAddr {
			text = string(libc.AppendInetNtop([]byte(text+"-"), r.MaxAddr))
		}
		if r.HasPorts && r.MinAddr.Is6() {
			text = "[" + text + "]"
		}
	}
	if r.HasPorts {
		text += ":" + numbers(r.MinPort, r.MaxPort)
	}
	if text != "" {
		text = " to " + text
	}
	var flags []string
	for _, f := range []struct {
		word string
		set  bool
	}{{"random", r.Random}, {"fully-random", r.RandomFully}, {"persistent", r.Persistent}} {
		if f.set {
			flags = append(flags, f.word)
		}
	}
	if len(flags) > 0 {
		text += " " + strings.Join(flags, ",")
	}
	return text
}

// reject says nothing of the answer that nft gives by itself.
func (p *program) reject(with string) string {
	switch with {
	case "icmp-port-unreachable", "icmp6-port-unreachable":
		return "reject"
	case "tcp-reset":
		return "reject with tcp reset"
	case "icmp-proto-unreachable":
		return "reject with icmp type prot-unreachable"
	case "icmp6-adm-prohibited":
		return "reject with icmpv6 type admin-prohibited"
	}
	if p.family == netfilter.IPv6 {
		return "reject with icmpv6 type " + strings.TrimPrefix(with, "icmp6-")
	}
	return "reject with icmp type " + strings.TrimPrefix(with, "icmp-")
}

// operation is a change of a mark. both is the form of one that takes bits away and turns others over.
func operation(mark string, value, mask uint32, both string) string {
	switch {
	case mask == 0xffffffff:
		return fmt.Sprintf("%#x", value)
	case value == 0:
		return fmt.Sprintf("%s and %#x", mark, ^mask)
	case value == mask:
		return fmt.Sprintf("%s or %#x", mark, value)
	case mask == 0:
		return fmt.Sprintf("%s xor %#x", mark, value)
	}
	return fmt.Sprintf(both, ^mask, value)
}

// changedConnmark has no words for masks that differ. It was asked of the tools without --left-shift-mark and --right-shift-mark alone.
func changedConnmark(t *target.Connmark) (string, finding) {
	if t.Shift != 0 {
		return "", unknown
	}
	if t.Mode == target.ConnmarkSet {
		return "ct mark set " + operation("ct mark", t.Value, t.CTMask, "ct mark xor %#[2]x and %#[1]x"), translated
	}
	from, to := "mark", "ct mark"
	if t.Mode == target.ConnmarkRestore {
		from, to = "ct mark", "meta mark"
	}
	switch {
	case t.NFMask != t.CTMask:
		return "", untranslated
	case t.NFMask == 0xffffffff:
		return to + " set " + from, translated
	}
	return fmt.Sprintf("%s set %s and %#x", to, from, t.NFMask), translated
}

// logDefault is the level that is not printed.
const logDefault = 4

// The bits of -j LOG, with the kernel's values (enum in include/uapi/linux/netfilter/nf_log.h).
const (
	logSequence  = 0x01
	logOptions   = 0x02
	logIPOptions = 0x04
	logUID       = 0x08
	logMAC       = 0x20
	logAll       = logSequence | logOptions | logIPOptions | logUID | logMAC
)

func logged(t *target.Log) string {
	text := "log"
	if t.Prefix != "" {
		text += ` prefix "` + t.Prefix + `"`
	}
	if t.Level != logDefault {
		text += " level " + [...]string{"emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"}[t.Level&7]
	}
	if t.Flags&logAll == logAll {
		return text + " flags all"
	}
	if t.Flags&(logSequence|logOptions) != 0 {
		text += " flags tcp" + list(false, uint32(t.Flags), "sequence", "options")
	}
	for _, f := range []struct {
		bit  uint8
		word string
	}{{logIPOptions, "ip options"}, {logUID, "skuid"}, {logMAC, "ether"}} {
		if t.Flags&f.bit != 0 {
			text += " flags " + f.word
		}
	}
	return text
}

func queue(t *target.NFQUEUE) string {
	text := "queue num " + numbers(t.Queue, t.Queue+t.Queues-1)
	var flags []string
	if t.Bypass {
		flags = append(flags, "bypass")
	}
	if t.CPUFanout {
		flags = append(flags, "fanout")
	}
	if len(flags) > 0 {
		text += " " + strings.Join(flags, ",")
	}
	return text
}
