package nftables

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chainwalk/chainwalk/internal/record"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// ErrOtherState says that another version of the program has written a state.
var ErrOtherState = record.ErrOther

// savedState is a kernel as AppendState writes it.
type savedState struct {
	Generation              uint32
	TableHandle, ChainNames uint64
	Tables                  []savedTable
}

type savedTable struct {
	Spec         TableSpec
	Handle, Last uint64
	Chains       []savedChain
	Sets         []savedSet
	Objects      []savedObject
	Flowtables   []savedFlowtable
}

type savedChain struct {
	Spec         ChainSpec
	Handle, Turn uint64
	Rules        []savedRule
}

type savedRule struct {
	Handle   uint64
	Exprs    []expr.Expr
	UserData []byte
	// Origin is what the rule was made from, as text; Made says that there is any.
	Origin string
	Made   bool
}

type savedSet struct {
	Spec      SetSpec
	Handle    uint64
	Structure structure
	Grows     bool
	Elements  []savedElement
}

type savedElement struct {
	Spec     ElementSpec
	Deadline time.Time
}

type savedObject struct {
	Spec   ObjectSpec
	Handle uint64
}

type savedFlowtable struct {
	Spec   FlowtableSpec
	Handle uint64
}

// savedTypes are what the expressions of a state are made of.
var savedTypes = sync.OnceValue(func() *record.Types {
	return record.NewTypes([]record.Interface{record.InterfaceOf[expr.Expr]()}, &savedState{},
		&expr.Immediate{}, &expr.Cmp{}, &expr.Range{}, &expr.Bitwise{}, &expr.Byteorder{}, &expr.Payload{}, &expr.Exthdr{}, &expr.Meta{},
		&expr.CT{},
		&expr.RT{}, &expr.Socket{}, &expr.Osf{}, &expr.XFRM{}, &expr.Fib{}, &expr.Numgen{}, &expr.Hash{}, &expr.Lookup{}, &expr.Dynset{},
		&expr.Objref{}, &expr.Counter{}, &expr.Quota{}, &expr.Limit{}, &expr.Connlimit{}, &expr.Last{}, &expr.Log{}, &expr.Reject{}, &expr.NAT{},
		&expr.Masq{}, &expr.Redir{}, &expr.Notrack{}, &expr.QueueTo{}, &expr.Dup{}, &expr.Fwd{}, &expr.Tproxy{}, &expr.Synproxy{},
		&expr.FlowOffload{}, &expr.Xt{}, &expr.Opaque{})
})

// Mark tells whether AppendState would write something else: two are equal if not, but for counters and quotas. Refused transactions and
// those that are only checked leave their mark, too: handles that they have used up.
type Mark struct {
	state                       *State
	tables, chainNames, handles uint64
}

// Mark is that of the kernel now.
func (k *Kernel) Mark() Mark {
	m := Mark{state: k.State(), tables: k.tableHandle, chainNames: k.chainNames}
	for _, t := range m.state.tables {
		m.handles += t.handle
	}
	return m
}

// AppendState appends all tables so that ReadState makes them again, just as they are.
func (k *Kernel) AppendState(dst []byte) []byte {
	s := k.State()
	saved := savedState{Generation: s.Generation, TableHandle: k.tableHandle, ChainNames: k.chainNames}
	for _, t := range s.Tables() {
		saved.Tables = append(saved.Tables, t.saved())
	}
	w := savedTypes().Writer(dst, 0)
	w.Write(&savedState{Generation: s.Generation, TableHandle: k.tableHandle, ChainNames: k.chainNames, Tables: s.heads()})
	w.Write(&saved)
	return w.Record()
}

func (t *Table) saved() savedTable {
	saved := savedTable{Spec: t.TableSpec, Handle: t.Handle, Last: t.handle}
	for _, c := range t.Chains() {
		chain := savedChain{Spec: c.ChainSpec, Handle: c.Handle, Turn: c.Turn}
		for _, r := range c.Rules {
			saved := savedRule{Handle: r.Handle, Exprs: r.Exprs, UserData: r.UserData}
			if r.Origin != nil {
				saved.Origin, saved.Made = fmt.Sprint(r.Origin), true
			}
			chain.Rules = append(chain.Rules, saved)
		}
		saved.Chains = append(saved.Chains, chain)
	}
	for _, s := range t.Sets() {
		set := savedSet{Spec: s.SetSpec, Handle: s.Handle, Structure: s.members.Load().structure(), Grows: s.grows}
		for _, e := range s.Elements(time.Time{}) {
			set.Elements = append(set.Elements, savedElement{e.ElementSpec, e.Deadline})
		}
		saved.Sets = append(saved.Sets, set)
	}
	for _, o := range t.Objects() {
		saved.Objects = append(saved.Objects, savedObject{o.ObjectSpec, o.Handle})
	}
	for _, f := range t.Flowtables() {
		saved.Flowtables = append(saved.Flowtables, savedFlowtable{f.FlowtableSpec, f.Handle})
	}
	return saved
}

// ReadState fills a kernel without tables with those that AppendState has written. It returns the turn of the base chain that was
// registered last.
func (k *Kernel) ReadState(text []byte) (lastTurn uint64, err error) {
	var heads, saved savedState
	r, err := savedTypes().Reader(text)
	if err == nil {
		err = r.Read(&heads)
	}
	if err == nil {
		err = r.Read(&saved)
	}
	if err != nil {
		return 0, err
	}
	return k.restore(&saved)
}

// restore fills a kernel without tables with saved ones.
func (k *Kernel) restore(saved *savedState) (lastTurn uint64, err error) {
	k.lock.Lock()
	defer k.lock.Unlock()
	if len(k.State().tables) > 0 {
		return 0, errors.New("the kernel has tables already")
	}
	// Base chains get the turns that they had.
	nextTurn := k.nextTurn
	defer func() { k.nextTurn = nextTurn }()
	restoring := &restoring{tx: k.begin()}
	restoring.tx.restores = true
	k.nextTurn = func() uint64 { return restoring.turn }
	for i := range saved.Tables {
		if err := restoring.table(&saved.Tables[i]); err != nil {
			return 0, fmt.Errorf("table %s %s: %w", saved.Tables[i].Spec.Family, saved.Tables[i].Spec.Name, err)
		}
	}
	if invalid := restoring.tx.firstInvalid(); invalid != nil {
		return 0, fmt.Errorf("table %s %s: chains lead too far", invalid.Family, invalid.Name)
	}
	state := restoring.tx.state()
	state.Generation = saved.Generation
	k.tableHandle, k.chainNames = saved.TableHandle, saved.ChainNames
	if k.space != nil {
		k.space.PassTable(k.tableHandle)
	}
	k.state.Store(state)
	return restoring.lastTurn, nil
}

// restoring makes tables again: first what rules lead to and name, and then the rules, of which one that replaced another has the handle of
// that, and may name what is younger.
type restoring struct {
	tx             *transaction
	turn, lastTurn uint64
}

// creation is something of a table that is made with its handle.
type creation struct {
	handle uint64
	make   func() error
}

func (r *restoring) table(t *savedTable) error {
	r.tx.handle = t.Handle
	if err := r.do(&AddTable{TableSpec: t.Spec}); err != nil {
		return err
	}
	table := r.tx.table(t.Spec.Family, t.Spec.Name)
	var all, rules []creation
	add := func(handle uint64, what func() error) { all = append(all, creation{handle, what}) }
	in := func(c Change) func() error { return func() error { return r.do(c) } }
	for i := range t.Chains {
		c := &t.Chains[i]
		add(c.Handle, func() error {
			r.turn = c.Turn
			r.lastTurn = max(r.lastTurn, c.Turn)
			return r.do(&AddChain{Family: t.Spec.Family, Table: t.Spec.Name, Chain: c.Spec})
		})
		for k := range c.Rules {
			rule := &c.Rules[k]
			add := &AddRule{Family: t.Spec.Family, Table: t.Spec.Name, Chain: c.Spec.Name, Exprs: rule.Exprs, UserData: rule.UserData}
			if rule.Made {
				add.Origin = SavedOrigin(rule.Origin)
			}
			rules = append(rules, creation{rule.Handle, in(add)})
		}
	}
	for i := range t.Objects {
		add(t.Objects[i].Handle, in(&AddObject{Family: t.Spec.Family, Table: t.Spec.Name, Object: t.Objects[i].Spec, Elsewhere: true}))
	}
	for i := range t.Flowtables {
		add(t.Flowtables[i].Handle, in(&AddFlowtable{Family: t.Spec.Family, Table: t.Spec.Name, Flowtable: t.Flowtables[i].Spec}))
	}
	var later []func() error
	for i := range t.Sets {
		s := &t.Sets[i]
		elements := func() error { return r.elements(t, s) }
		add(s.Handle, func() error {
			err := r.do(&AddSet{Family: t.Spec.Family, Table: t.Spec.Name, Set: s.Spec})
			if err != nil {
				return err
			}
			own := table.ownSet(s.Spec.Name, 0)
			own.grows = s.Grows // a rule may have given it a size since
			own.members.Store(newMembers(s.Structure))
			if s.Spec.Flags&SetAnonymous != 0 {
				err = elements()
			}
			return err
		})
		if s.Spec.Flags&SetAnonymous == 0 {
			later = append(later, elements)
		}
	}
	for _, some := range [][]creation{all, rules} {
		slices.SortFunc(some, func(a, b creation) int { return cmp.Compare(a.handle, b.handle) })
	}
	for _, c := range append(all, rules...) {
		table.handle = c.handle - 1
		if err := c.make(); err != nil {
			return err
		}
	}
	for _, elements := range later {
		if err := elements(); err != nil {
			return err
		}
	}
	table.handle = t.Last
	return r.order(table, t)
}

// order brings the rules of each chain into their order: they were made in that of their handles.
func (r *restoring) order(table *tableEdit, t *savedTable) error {
	for i := range t.Chains {
		saved := &t.Chains[i]
		chain := table.Chain(saved.Spec.Name)
		if chain == nil || len(chain.Rules) != len(saved.Rules) {
			return fmt.Errorf("chain %s lacks rules", saved.Spec.Name)
		}
		place := make(map[uint64]int, len(saved.Rules))
		for k := range saved.Rules {
			place[saved.Rules[k].Handle] = k
		}
		slices.SortFunc(chain.Rules, func(a, b *Rule) int { return cmp.Compare(place[a.Handle], place[b.Handle]) })
	}
	return nil
}

// elements puts the elements of a set that have not expired into it.
func (r *restoring) elements(t *savedTable, s *savedSet) error {
	add := &AddElements{Family: t.Spec.Family, Table: t.Spec.Name, Set: s.Spec.Name}
	for i := range s.Elements {
		e := &s.Elements[i]
		// The set's timeout may be another one than when the element was added.
		e.Spec.HasTimeout = s.Spec.Flags&SetTimeout != 0 && e.Spec.Flags&ElementIntervalEnd == 0
		e.Spec.Expires = 0 // what it was when the element was read before
		if !e.Deadline.IsZero() {
			if e.Spec.Expires = e.Deadline.Sub(r.tx.now); e.Spec.Expires <= 0 {
				continue
			}
		}
		add.Elements = append(add.Elements, e.Spec)
	}
	if len(add.Elements) == 0 {
		return nil
	}
	if s.Spec.Flags&SetInterval == 0 && s.Structure == ordering {
		slices.Reverse(add.Elements) // none can be added behind another
	}
	return r.do(add)
}

func (r *restoring) do(c Change) error {
	if f := r.tx.change(c); f != nil {
		return fmt.Errorf("%s: %w", strings.TrimPrefix(fmt.Sprintf("%T", c), "*nftables."), f.errno)
	}
	return nil
}
