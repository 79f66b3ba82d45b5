// Package question reads a question about all packets of a host that is asked in words: "what can reach svc/shop/web", "what is dropped".
package question

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
)

// Question is what somebody asks about all packets of a host.
type Question struct {
	// Verb is what packets that the question is about do: "are dropped".
	Verb string
	// Replies says that it is about replies.
	Replies bool
	// fate says which fates are asked for; nil: any.
	fate func(*forall.Fate) bool
	// end is where packets arrive, to and from are their ends as they are sent; nil: any.
	end, to, from *end
	proto         inet.Proto
	// devices says by which devices packets come; nil: by any, or from the host itself.
	devices []string
}

// end is an end of a question, with the addresses of both families.
type end struct {
	name     string
	prefixes []netip.Prefix
	port     uint16
}

// fates are the words for fates.
var fates = map[string]func(*forall.Fate) bool{
	"dropped": func(f *forall.Fate) bool {
		return f.Unmodelled == "" && f.Verdict != packetsim.Accept && f.RejectWith == ""
	},
	"rejected":    func(f *forall.Fate) bool { return f.Unmodelled == "" && f.RejectWith != "" },
	"masqueraded": func(f *forall.Fate) bool { return f.Arrives() && f.Src.IsValid() },
	"translated":  func(f *forall.Fate) bool { return f.Arrives() && (f.Dst.IsValid() || f.DstPort != 0) },
	"forwarded":   func(f *forall.Fate) bool { return f.Arrives() && f.To == packetsim.ToForward },
	"delivered":   func(f *forall.Fate) bool { return f.Arrives() && f.To == packetsim.ToLocal },
}

// replyFates are the words for fates that are about replies.
var replyFates = map[string]func(*forall.Fate) bool{
	"answered":   func(f *forall.Fate) bool { return f.Arrives() && f.Back.Heard },
	"unanswered": func(f *forall.Fate) bool { return f.Arrives() && !f.Back.Heard && f.Back.Verdict != "" },
}

// protocols are the words for protocols. ICMP is that of either family.
var protocols = map[string]inet.Proto{"tcp": inet.TCP, "udp": inet.UDP, "sctp": inet.SCTP, "icmp": inet.ICMP, "icmpv6": inet.ICMPv6}

// Forms says how a question may be asked, for messages.
const Forms = `want "what can reach END", "fate of PROTO to END", or "what is dropped" (rejected, masqueraded, translated, ` +
	`forwarded, delivered, answered, unanswered), and then any of "to END", "from END", "by DEVICE" and a protocol`

// asker reads a question word by word.
type asker struct {
	words []string
	at    int
	book  *names.Book
	host  *packetsim.Host
}

// Parse reads a question about a host, whose devices it may name. The book has the names of objects; nil: there are none. The error says
// which word is wrong.
func Parse(text string, book *names.Book, host *packetsim.Host) (*Question, error) {
	a := asker{words: strings.Fields(strings.TrimSuffix(strings.TrimSpace(text), "?")), book: book, host: host}
	for i := range a.words {
		a.words[i] = strings.TrimSuffix(a.words[i], ",")
	}
	q, err := a.question()
	if err != nil {
		return nil, fmt.Errorf("question, word %d: %w", a.at+1, err)
	}
	return q, nil
}

// next takes the next word if it is one of these.
func (a *asker) next(words ...string) bool {
	if a.at < len(a.words) && slices.Contains(words, strings.ToLower(a.words[a.at])) {
		a.at++
		return true
	}
	return false
}

func (a *asker) question() (*Question, error) {
	q := &Question{}
	switch {
	case a.next("fate"):
		a.next("of")
		q.fate, q.Verb = nil, "match the question"
	case a.next("what", "who"):
		if err := a.asked(q); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("%s: %s", a.word(), Forms)
	}
	for a.at < len(a.words) {
		if err := a.filter(q); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// asked reads what comes behind "what".
func (a *asker) asked(q *Question) (err error) {
	switch {
	case a.next("can", "may"):
		if !a.next("reach") {
			return fmt.Errorf("%s: %s", a.word(), Forms)
		}
		q.end, err = a.end(q, false)
	case a.next("reaches"):
		q.end, err = a.end(q, false)
	case a.next("is", "are"):
		if a.at < len(a.words) {
			word := strings.ToLower(a.words[a.at])
			if q.fate = fates[word]; q.fate == nil {
				q.fate, q.Replies = replyFates[word], true
			}
		}
		if q.fate == nil {
			return fmt.Errorf("%s: %s", a.word(), Forms)
		}
		q.Verb = "are " + strings.ToLower(a.words[a.at])
		a.at++
		return nil
	default:
		return fmt.Errorf("%s: %s", a.word(), Forms)
	}
	if err == nil {
		q.fate, q.Verb = (*forall.Fate).Arrives, "can reach "+q.end.name
	}
	return err
}

// filter reads which packets are asked about.
func (a *asker) filter(q *Question) (err error) {
	switch {
	case a.next("and"): // "and by what": the rules that decide are told in any case
		if a.next("by") && a.next("what", "whom", "which") {
			a.next("rule", "rules")
			return nil
		}
		return fmt.Errorf("%s: %s", a.word(), Forms)
	case a.next("to"):
		q.to, err = a.end(q, false)
	case a.next("from"):
		if a.next(names.Outside) {
			q.devices, err = a.outside()
			return err
		}
		q.from, err = a.end(q, true)
	case a.next("by", "in"):
		if a.at == len(a.words) {
			return fmt.Errorf("nothing: want the name of a device")
		}
		if _, known := a.host.Device(a.words[a.at]); !known {
			return fmt.Errorf("%s: the host has no such device; it has %s", a.words[a.at], strings.Join(deviceNames(a.host), ", "))
		}
		q.devices = []string{a.words[a.at]}
		a.at++
	default:
		proto, known := protocols[strings.ToLower(a.word())]
		if !known {
			return fmt.Errorf("%s: %s", a.word(), Forms)
		}
		q.proto = proto
		a.at++
	}
	return err
}

// word is the next word, for messages too.
func (a *asker) word() string {
	if a.at < len(a.words) {
		return a.words[a.at]
	}
	return "the question ends here"
}

// outside are the devices of default routes.
func (a *asker) outside() ([]string, error) {
	var out []string
	for _, r := range a.host.Config().Routes {
		if r.Dst.Bits() == 0 && r.Dev != "" && !slices.Contains(out, r.Dev) {
			out = append(out, r.Dev)
		}
	}
	if len(out) == 0 {
		a.at--
		return nil, fmt.Errorf("outside: the host has no default route: write \"by DEVICE\" with one of %s",
			strings.Join(deviceNames(a.host), ", "))
	}
	return out, nil
}

func deviceNames(h *packetsim.Host) []string {
	var out []string
	for _, d := range h.Config().Devices {
		out = append(out, d.Name)
	}
	slices.Sort(out)
	return out
}

// end reads an end: an object, an address with or without a port, or a range of addresses.
func (a *asker) end(q *Question, client bool) (*end, error) {
	if a.at == len(a.words) {
		return nil, fmt.Errorf("nothing: want an address, a range such as 10.0.0.0/8, or an object such as pod/NAME")
	}
	word := a.words[a.at]
	if prefix, err := netip.ParsePrefix(word); err == nil {
		a.at++
		return &end{name: word, prefixes: []netip.Prefix{prefix.Masked()}}, nil
	}
	book := a.book
	if book == nil {
		book = names.New(nil)
	}
	find := book.Server
	if client {
		find = book.Client
	}
	found, err := find(word)
	if err != nil {
		return nil, err
	}
	e := &end{name: word}
	for _, address := range found.Addresses {
		e.prefixes = append(e.prefixes, netip.PrefixFrom(address, address.BitLen()))
	}
	if len(e.prefixes) == 0 {
		return nil, fmt.Errorf("%s: it has no address", word)
	}
	if found.Port != "" {
		port, err := strconv.ParseUint(found.Port, 10, 16)
		if err != nil {
			if port, err = a.portOfService(q, found); err != nil {
				return nil, err
			}
		}
		e.port = uint16(port)
	}
	a.at++
	return e, nil
}

// portOfService is the number of a port of a service that is written by its name. The question is about the protocol of the port.
func (a *asker) portOfService(q *Question, e *names.End) (uint64, error) {
	if e.Service != nil {
		for i := range e.Service.Spec.Ports {
			p := &e.Service.Spec.Ports[i]
			if p.Name == e.Port && (q.proto == 0 || q.proto == protocols[strings.ToLower(string(p.Protocol))]) {
				q.proto = cmp.Or(protocols[strings.ToLower(string(p.Protocol))], inet.TCP)
				return uint64(p.Port), nil
			}
		}
	}
	return 0, fmt.Errorf("%s: there is no port %s", e.Name, e.Port)
}

// Of are the questions for one family: one for each pair of addresses.
func (q *Question) Of(family netfilter.Family) []forall.Question {
	proto := q.proto
	if proto == inet.ICMP && family == netfilter.IPv6 {
		proto = inet.ICMPv6
	}
	all := []forall.Question{{Proto: uint8(proto), In: q.devices, Fate: q.fate}}
	each := func(e *end, set func(*forall.Question, netip.Prefix)) {
		if e == nil {
			return
		}
		var out []forall.Question
		for _, one := range all {
			for _, prefix := range e.prefixes {
				if prefix.Addr().Is6() == (family == netfilter.IPv6) {
					with := one
					set(&with, prefix)
					out = append(out, with)
				}
			}
		}
		all = out
	}
	each(q.end, func(one *forall.Question, p netip.Prefix) { one.EndDst, one.EndPort = p, q.end.port })
	each(q.to, func(one *forall.Question, p netip.Prefix) { one.Dst, one.DstPort = p, q.to.port })
	each(q.from, func(one *forall.Question, p netip.Prefix) { one.Src = p })
	return all
}

// VerbOfOne is the verb of one kind of packets: "is dropped".
func (q *Question) VerbOfOne() string {
	if of, are := strings.CutPrefix(q.Verb, "are "); are {
		return "is " + of
	}
	return strings.Replace(q.Verb, "match ", "matches ", 1)
}

// Unknown asks, for one family, which of the packets have a fate that is not known. It may be the one that is asked for, and they may end
// anywhere.
func (q *Question) Unknown(family netfilter.Family) []forall.Question {
	wherever := *q
	wherever.end = nil
	wherever.fate = func(f *forall.Fate) bool { return f.Unmodelled != "" || q.Replies && f.Back.Unmodelled != "" }
	return wherever.Of(family)
}
