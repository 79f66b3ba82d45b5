package nftables

import (
	"slices"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// maxExprs is the greatest number of expressions of a rule (NFT_RULE_MAXEXPRS).
const maxExprs = 128

func (tx *transaction) addRule(c *AddRule) *fault {
	t, f := tx.tableFor(c.Family, c.Table, c.Chain, PartChain)
	if f != nil {
		return f
	}
	name := c.Chain
	if name == "" && c.ChainID != 0 {
		name = tx.chainIDs[transactionID{t.Handle, c.ChainID}]
	}
	chain := t.Chain(name)
	if chain == nil {
		return refuse(syscall.ENOENT, PartChain)
	}
	if t.bound(chain) {
		return refuse(syscall.EOPNOTSUPP, PartWhole)
	}
	rule := &Rule{UserData: c.UserData, Origin: c.Origin}
	at, f := t.placeOf(c, chain, rule)
	switch {
	case f != nil:
		return f
	case len(c.Exprs) > maxExprs:
		return refuse(syscall.EINVAL, PartWhole)
	}
	if rule.Exprs, f = t.takeExprs(c.Exprs); f != nil {
		return f
	}
	chain = t.ownChain(name)
	if c.Place == Instead {
		t.releaseExprs(chain.Rules[at].Exprs)
		chain.Rules = slices.Clone(chain.Rules)
		chain.Rules[at] = rule
	} else {
		chain.Rules = slices.Insert(chain.Rules, at, rule)
	}
	if c.Notify != nil {
		c.Notify(t.Table, rule, chain.Rules)
	}
	if c.ID != 0 {
		if tx.rules == nil {
			tx.rules = map[uint32]*Rule{}
		}
		tx.rules[c.ID] = rule
	}
	if !chain.dirty || t.checking {
		chain.dirty = true
		t.dirtyChains = append(t.dirtyChains, name)
	}
	tx.changed = true
	return t.checked(rule.leads())
}

// bound says that a chain without a name of its own has its rule, and gets none of its own any more.
func (t *tableEdit) bound(c *Chain) bool { return c.Flags&ChainBinding != 0 && t.usesOf(c.Name) > 0 }

// placeOf is where among the chain's rules a new one goes, which gets its handle.
func (t *tableEdit) placeOf(c *AddRule, chain *Chain, rule *Rule) (int, *fault) {
	other, part := -1, PartPlace
	find := func(is func(*Rule) bool) bool {
		other = slices.IndexFunc(chain.Rules, is)
		return other >= 0
	}
	ofHandle := func(r *Rule) bool { return r.Handle == c.Handle }
	if c.Place == Instead {
		if c.Handle == 0 {
			return 0, refuse(syscall.EINVAL, PartWhole)
		}
		if !find(ofHandle) {
			return 0, refuse(syscall.ENOENT, PartHandle)
		}
		rule.Handle = c.Handle
		return other, nil
	}
	rule.Handle = t.handleFor(c.Want)
	switch {
	case c.Handle != 0 && !find(ofHandle),
		c.Handle == 0 && c.PlaceID != 0 && !find(func(r *Rule) bool { return r == t.tx.rules[c.PlaceID] }):
		return 0, refuse(syscall.ENOENT, part)
	case c.Place == First:
		return max(other, 0), nil
	case other >= 0:
		return other + 1, nil
	}
	return len(chain.Rules), nil
}

func (tx *transaction) deleteRule(c *DeleteRule) *fault {
	t, f := tx.tableFor(c.Family, c.Table, c.Chain, PartChain)
	if f != nil {
		return f
	}
	if c.Chain == "" {
		for _, chain := range t.Chains() {
			if chain.Flags&ChainBinding == 0 {
				t.flushChain(chain)
			}
		}
		return nil
	}
	chain := t.Chain(c.Chain)
	switch {
	case chain == nil && c.MayLack:
		return nil
	case chain == nil:
		return refuse(syscall.ENOENT, PartChain)
	case chain.Flags&ChainBinding != 0:
		return refuse(syscall.EOPNOTSUPP, PartWhole)
	case c.Handle == 0:
		t.flushChain(chain)
		return nil
	}
	at := slices.IndexFunc(chain.Rules, func(r *Rule) bool { return r.Handle == c.Handle })
	if at < 0 {
		switch {
		case c.MayLack:
			return nil
		case slices.Contains(t.deletedRules, ruleID{c.Chain, c.Handle}): // it is found, and then cannot be deleted (nft_delrule)
			return refuse(syscall.ENOENT, PartWhole)
		}
		return refuse(syscall.ENOENT, PartHandle)
	}
	chain = t.ownChain(c.Chain)
	t.deletedRules = append(t.deletedRules, ruleID{c.Chain, c.Handle})
	t.releaseExprs(chain.Rules[at].Exprs)
	chain.Rules = slices.Delete(slices.Clone(chain.Rules), at, at+1)
	t.tx.changed = true
	return nil
}

// flushChain deletes all rules of a chain.
func (t *tableEdit) flushChain(chain *Chain) {
	if len(chain.Rules) == 0 {
		return
	}
	chain = t.ownChain(chain.Name)
	rules := chain.Rules
	chain.Rules = nil
	for _, r := range rules {
		t.deletedRules = append(t.deletedRules, ruleID{chain.Name, r.Handle})
		t.releaseExprs(r.Exprs)
	}
	t.tx.changed = true
}

// takeExprs are expressions as a rule has them: with the sets that they name, and counters of their own. The things they name are in use
// from then on.
func (t *tableEdit) takeExprs(given []expr.Expr) ([]expr.Expr, *fault) {
	for i, e := range given {
		if t.lacksModule(e) {
			return nil, &fault{errno: syscall.ENOENT, part: PartExpr, index: i}
		}
	}
	taken := make([]expr.Expr, len(given))
	for i, e := range given {
		x, errno := t.takeExpr(e)
		if errno != 0 {
			t.releaseExprs(taken[:i])
			return nil, &fault{errno: errno, part: PartExpr, index: i}
		}
		taken[i] = x
	}
	return taken, nil
}

// lacksModule says that no module has an expression for the family, which the kernel finds out before it looks at what others ask for.
func (t *tableEdit) lacksModule(e expr.Expr) bool {
	switch e.(type) {
	case *expr.Fib:
		return t.Family == ARP || t.Family == Bridge
	case *expr.FlowOffload:
		return t.tx.kernel.noFlowtables || t.Family == ARP || t.Family == Bridge || t.Family == Netdev
	}
	return false
}

// takeExpr is the initialisation of one expression (the init functions of nft_*.c).
func (t *tableEdit) takeExpr(e expr.Expr) (expr.Expr, syscall.Errno) {
	switch e := e.(type) {
	case *expr.Immediate:
		if v := e.Data.Verdict; v != nil {
			return t.takeVerdict(e, v)
		}
	case *expr.Lookup:
		return t.takeLookup(e)
	case *expr.Dynset:
		return t.takeDynset(e)
	case *expr.Objref:
		return t.takeObjref(e)
	case *expr.NAT:
		if e.AddrMin == 0 && e.ProtoMin == 0 {
			return nil, syscall.EINVAL
		}
		if t.Family != Inet && t.Family != Family(e.Family) {
			return nil, syscall.EOPNOTSUPP
		}
		return natForm(e), 0
	case *expr.Meta:
		if errno := t.checkMeta(e); errno != 0 {
			return nil, errno
		}
	case *expr.Masq:
		return masqForm(e), 0
	case *expr.Redir:
		return redirForm(e), 0
	case *expr.Limit:
		return takeLimit(e)
	case *expr.CT:
		t.noteCT(e)
	case *expr.FlowOffload:
		if errno := t.offloadsTo(e.Table, 1); errno != 0 {
			return nil, errno
		}
	}
	if errno := t.checkKeys(e); errno != 0 {
		return nil, errno
	}
	if t.tx.adopts {
		return e, 0 // it goes on counting where it was
	}
	return copyOf(e), 0
}

// noteCT tells the namespace what a rule asks for that connections have only if some rule does (nft_ct_get_init, nft_ct_set_init): from
// then on they have it, even if the rule is not taken.
func (t *tableEdit) noteCT(e *expr.CT) {
	space := t.tx.kernel.space
	switch {
	case space == nil:
	case e.Key == expr.CTPkts || e.Key == expr.CTBytes || e.Key == expr.CTAvgpkt:
		space.ForceAccounting()
	case e.Key == expr.CTLabels && e.Writes:
		space.AddLabels()
	}
}

func (t *tableEdit) takeVerdict(e *expr.Immediate, v *expr.Verdict) (expr.Expr, syscall.Errno) {
	if v.Code != expr.Jump && v.Code != expr.Goto {
		return e, 0
	}
	name, errno := t.lead(v)
	switch {
	case errno != 0:
		return nil, errno
	case v.ChainID == 0:
		return e, 0
	}
	own := *e
	own.Data.Verdict = &expr.Verdict{Code: v.Code, Chain: name}
	return &own, 0
}

// lead notes that one verdict more leads to a chain (nft_verdict_init), and gives the chain's name.
func (t *tableEdit) lead(v *expr.Verdict) (string, syscall.Errno) {
	name := v.Chain
	if name == "" {
		name = t.tx.chainIDs[transactionID{t.Handle, v.ChainID}]
	}
	entry := t.chains.Ref(name)
	switch {
	case entry == nil:
		return "", syscall.ENOENT
	case entry.chain.Hooking != nil:
		return "", syscall.EOPNOTSUPP
	case entry.chain.Flags&ChainBinding != 0 && entry.uses > 0:
		return "", syscall.EINVAL
	}
	entry.uses++
	return name, 0
}

// release says that one verdict less leads to a chain. The chain goes with the rule if it is one without a name.
func (t *tableEdit) release(v *expr.Verdict) {
	if v == nil || v.Code != expr.Jump && v.Code != expr.Goto {
		return
	}
	entry := t.chains.Ref(v.Chain)
	if entry == nil {
		return
	}
	entry.uses--
	if chain := entry.chain; entry.uses == 0 && chain.Flags&ChainBinding != 0 {
		t.flushChain(chain)
		t.dropChain(t.Chain(chain.Name))
	}
}

// releaseExprs says that what a rule names is no more named by it. Anonymous sets go with it.
func (t *tableEdit) releaseExprs(exprs []expr.Expr) {
	t.thinned = true
	for _, e := range exprs {
		switch e := e.(type) {
		case *expr.Immediate:
			t.release(e.Data.Verdict)
		case *expr.Lookup:
			t.unbind(e.Set)
		case *expr.Dynset:
			t.unbind(e.Set)
		case *expr.Objref:
			if e.Set != "" {
				t.unbind(e.Set)
			} else if o := t.objects.Ref(objectKey(e.Type, e.Object)); o != nil {
				o.uses--
			}
		case *expr.FlowOffload:
			_ = t.offloadsTo(e.Table, -1) // it was there when the rule was made
		}
	}
}
