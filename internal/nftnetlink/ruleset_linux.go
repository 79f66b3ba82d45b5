package nftnetlink

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/nfnetlink"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// Ruleset is all that the nf_tables of a namespace has, as of one generation.
type Ruleset struct {
	Generation uint32
	Tables     []*Table
}

// Table is a table with what it has, each in the order in which it was made.
type Table struct {
	nftables.TableSpec
	Handle     uint64
	Chains     []*Chain
	Sets       []*Set
	Objects    []*Object
	Flowtables []*Flowtable
}

// Chain is a chain with its rules.
type Chain struct {
	nftables.ChainSpec
	Handle uint64
	Rules  []*nftables.Rule
}

// Set is a set or map with its elements.
type Set struct {
	nftables.SetSpec
	Handle   uint64
	Elements []*nftables.Element
}

// Object is a named object.
type Object struct {
	nftables.ObjectSpec
	Handle uint64
}

// Flowtable is a flowtable.
type Flowtable struct {
	nftables.FlowtableSpec
	Handle uint64
}

// attempts is how often a ruleset that changes meanwhile is read again.
const attempts = 10

// errChanges says that the ruleset changed whenever it was read.
var errChanges = errors.New("the ruleset of nf_tables changes all the time")

// Read reads all tables of the socket's namespace. Deadlines of elements are told from now on.
func Read(s *nfnetlink.Socket, now time.Time) (*Ruleset, error) {
	for range attempts {
		before, err := generation(s)
		if err != nil {
			return nil, err
		}
		r := &reader{socket: s, now: now, tables: map[tableKey]*Table{}}
		err = r.read()
		if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINTR) {
			return nil, fmt.Errorf("read nf_tables: %w", err)
		}
		after, generationErr := generation(s)
		switch {
		case generationErr != nil:
			return nil, generationErr
		case before != after:
			continue
		case err != nil:
			return nil, fmt.Errorf("read nf_tables: %w", err)
		}
		return &Ruleset{Generation: after, Tables: r.list}, nil
	}
	return nil, errChanges
}

const subsystem = unix.NFNL_SUBSYS_NFTABLES << 8

func generation(s *nfnetlink.Socket) (id uint32, err error) {
	err = s.Request(subsystem|unix.NFT_MSG_GETGEN, unix.NLM_F_ACK, unix.AF_UNSPEC, 0, nil, func(m nfnetlink.Message) error {
		t := split(m.Attributes)
		id = t.u32(unix.NFTA_GEN_ID)
		return t.err
	})
	if err != nil {
		return 0, fmt.Errorf("read the generation of nf_tables: %w", err)
	}
	return id, nil
}

type tableKey struct {
	family nftables.Family
	name   string
}

// reader reads a ruleset.
type reader struct {
	socket *nfnetlink.Socket
	now    time.Time
	tables map[tableKey]*Table
	list   []*Table
}

func (r *reader) read() error {
	for _, dump := range []struct {
		kind uint16
		take func(family nftables.Family, t *attributes) error
	}{
		{unix.NFT_MSG_GETTABLE, r.takeTable},
		{unix.NFT_MSG_GETOBJ, r.takeObject},
		{unix.NFT_MSG_GETSET, r.takeSet},
		{unix.NFT_MSG_GETFLOWTABLE, r.takeFlowtable},
		{unix.NFT_MSG_GETCHAIN, r.takeChain},
		{unix.NFT_MSG_GETRULE, r.takeRule},
	} {
		if err := r.dump(dump.kind, unix.AF_UNSPEC, nil, dump.take); err != nil {
			return err
		}
	}
	for _, t := range r.list {
		for _, s := range t.Sets {
			if err := r.readElements(t, s); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reader) dump(kind uint16, family uint8, request []byte, take func(nftables.Family, *attributes) error) error {
	return r.socket.Request(subsystem|kind, unix.NLM_F_DUMP, family, 0, request, func(m nfnetlink.Message) error {
		t := split(m.Attributes)
		if err := take(nftables.Family(m.Family), t); err != nil {
			return err
		}
		return t.err
	})
}

func (r *reader) takeTable(family nftables.Family, t *attributes) error {
	table := &Table{Handle: t.u64(tableHandle)}
	table.TableSpec = nftables.TableSpec{
		Family: family, Name: t.text(unix.NFTA_TABLE_NAME), Flags: nftables.TableFlags(t.u32(unix.NFTA_TABLE_FLAGS)),
		UserData: t.bytes(tableUserData),
	}
	r.tables[tableKey{family, table.Name}] = table
	r.list = append(r.list, table)
	return nil
}

// table is the table that a message names by its attribute 1; an error if it came meanwhile.
func (r *reader) table(family nftables.Family, t *attributes) (*Table, error) {
	name := t.text(1)
	if table := r.tables[tableKey{family, name}]; table != nil {
		return table, nil
	}
	return nil, fmt.Errorf("table %s: %w", name, unix.ENOENT)
}

// Attributes that package unix does not have.
const (
	tableHandle     = 4
	tableUserData   = 6
	chainFlags      = 10
	chainUserData   = 12
	hookDevs        = 4
	objHandle       = 6
	objUserData     = 8
	flowtableName   = 2
	flowtableHook   = 3
	flowtableHandle = 5
	flowtableFlags  = 7
)

func (r *reader) takeChain(family nftables.Family, t *attributes) error {
	table, err := r.table(family, t)
	if err != nil {
		return err
	}
	c := &Chain{Handle: t.u64(unix.NFTA_CHAIN_HANDLE)}
	const base = 1
	c.ChainSpec = nftables.ChainSpec{
		Name: t.text(unix.NFTA_CHAIN_NAME), Flags: nftables.ChainFlags(t.u32(chainFlags)) &^ base, UserData: t.bytes(chainUserData),
	}
	if t.has[unix.NFTA_CHAIN_HOOK] {
		hook := t.nested(unix.NFTA_CHAIN_HOOK)
		c.Hooking = &nftables.Hooking{
			Type: t.text(unix.NFTA_CHAIN_TYPE), Hook: hook.u32(unix.NFTA_HOOK_HOOKNUM), Priority: int32(hook.u32(unix.NFTA_HOOK_PRIORITY)),
			Devices: devices(hook, hookDevs),
		}
		if hook.has[unix.NFTA_HOOK_DEV] && len(c.Hooking.Devices) == 0 {
			c.Hooking.Devices = []string{hook.text(unix.NFTA_HOOK_DEV)}
		}
		policy := expr.Code(t.u32(unix.NFTA_CHAIN_POLICY))
		c.Policy = &policy
	}
	table.Chains = append(table.Chains, c)
	return nil
}

func devices(hook *attributes, typ uint16) (names []string) {
	if !hook.has[typ] {
		return nil
	}
	for _, a := range hook.all(typ) {
		names = append(names, a.Text())
	}
	return names
}

func (r *reader) takeRule(family nftables.Family, t *attributes) error {
	table, err := r.table(family, t)
	if err != nil {
		return err
	}
	name := t.text(unix.NFTA_RULE_CHAIN)
	// The kernel dumps the rules chain by chain in the order of the chains.
	at := slices.IndexFunc(table.Chains, func(c *Chain) bool { return c.Name == name })
	if at < 0 {
		return fmt.Errorf("chain %s: %w", name, unix.ENOENT)
	}
	c := table.Chains[at]
	c.Rules = append(c.Rules, &nftables.Rule{
		Handle: t.u64(unix.NFTA_RULE_HANDLE), Exprs: t.exprs(unix.NFTA_RULE_EXPRESSIONS), UserData: t.bytes(unix.NFTA_RULE_USERDATA),
	})
	return nil
}

func (r *reader) takeObject(family nftables.Family, t *attributes) error {
	table, err := r.table(family, t)
	if err != nil {
		return err
	}
	o := &Object{Handle: t.u64(objHandle)}
	o.ObjectSpec = nftables.ObjectSpec{
		Name: t.text(unix.NFTA_OBJ_NAME), Type: expr.ObjectType(t.u32(unix.NFTA_OBJ_TYPE)), UserData: t.bytes(objUserData),
	}
	name, isKnown := objectKinds[o.Type]
	if isKnown {
		inside := t.nested(unix.NFTA_OBJ_DATA)
		o.Value = readers[name](inside)
		if inside.err != nil {
			return inside.err
		}
	} else {
		o.Value = &expr.Opaque{Kind: "object", Data: t.bytes(unix.NFTA_OBJ_DATA)}
	}
	table.Objects = append(table.Objects, o)
	return nil
}

// objectKinds are the expressions that have the same attributes as an object.
var objectKinds = map[expr.ObjectType]string{
	expr.ObjectCounter: "counter", expr.ObjectQuota: "quota", expr.ObjectLimit: "limit", expr.ObjectConnlimit: "connlimit",
	expr.ObjectSynproxy: "synproxy",
}

func (r *reader) takeFlowtable(family nftables.Family, t *attributes) error {
	table, err := r.table(family, t)
	if err != nil {
		return err
	}
	hook := t.nested(flowtableHook)
	table.Flowtables = append(table.Flowtables, &Flowtable{Handle: t.u64(flowtableHandle), FlowtableSpec: nftables.FlowtableSpec{
		Name: t.text(flowtableName), Flags: nftables.FlowtableFlags(t.u32(flowtableFlags)),
		Hook: hook.u32(1), Priority: int32(hook.u32(2)), Devices: devices(hook, 3),
	}})
	return nil
}
