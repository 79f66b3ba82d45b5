package print

import (
	"fmt"
	"strconv"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// Options are how nft was asked to print.
type Options struct {
	Handles         bool // -a
	Stateless       bool // -s
	Terse           bool // -t
	Services        bool // -S: names of ports
	Accounts        bool // -u: names of users and groups
	NumericPriority bool // -y
	NumericProtocol bool // -p
	NumericTime     bool // -T
	NumericSymbols  bool // what -n has beside the three above

	// Family is that of the table that a rule is of, where a rule is printed alone; listings of tables set it themselves.
	Family nftables.Family
	// Device is the name of the device with an index; nil: none has a name.
	Device func(index uint32) (name string, ok bool)
	// User and Group are names of accounts, for Accounts; nil: there are none.
	User, Group func(number uint32) (name string, ok bool)
	// Zone is the offset of local time from UTC in seconds, at a moment in seconds since 1970, for "meta time" and "meta hour"; nil: none.
	Zone func(unix int64) int
	// HourZone is the offset that "meta hour" is printed with: today's.
	HourZone int
	// Sorted says that elements come in the order in which nft prints them, so that nothing needs to be sorted.
	Sorted bool
	// Warn gets what nft says on standard error while it prints JSON; nil: nobody.
	Warn func(line string)
}

// Numeric sets all that -n means.
func (o *Options) Numeric() {
	o.NumericPriority, o.NumericProtocol, o.NumericTime, o.NumericSymbols = true, true, true, true
}

// printer appends to b.
type printer struct {
	Options
	b []byte
	// keys are what elements were sorted by, to be used again.
	keys []sortKey
	// compared is a constant on the right of a comparison. An asterisk in a name has a backslash there alone.
	compared *syntax.Value
}

func newPrinter(dst []byte, o *Options) *printer {
	p := &printer{b: dst}
	if o != nil {
		p.Options = *o
	}
	return p
}

func (p *printer) str(s string) { p.b = append(p.b, s...) }

func (p *printer) quoted(s string) {
	p.b = append(p.b, '"')
	p.b = append(p.b, s...)
	p.b = append(p.b, '"')
}

func (p *printer) uint(n uint64) { p.b = strconv.AppendUint(p.b, n, 10) }

func (p *printer) int(n int64) { p.b = strconv.AppendInt(p.b, n, 10) }

// handle is the comment that -a asks for.
func (p *printer) handle(number uint64) {
	if p.Handles {
		p.str(" # handle ")
		p.uint(number)
	}
}

// Unsupported is what a listing cannot say: a tree that nft has no words for.
type Unsupported struct{ What string }

func (u Unsupported) Error() string { return "chainwalk does not support listing " + u.What }

// unsupported stops the listing; guard makes an error of it.
func unsupported(format string, args ...any) { panic(Unsupported{fmt.Sprintf(format, args...)}) }

// guard runs f and gives back what it could not print.
func guard(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case Unsupported:
			err = r
		default:
			panic(r)
		}
	}()
	f()
	return nil
}
