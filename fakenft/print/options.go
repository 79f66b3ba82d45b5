package print

import "github.com/chainwalk/chainwalk/netfilter/nftables"

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

// stateless prints what f does without numbers that change.
func (o *Options) stateless(f func()) {
	saved := o.Stateless
	o.Stateless = true
	f()
	o.Stateless = saved
}
