package syntax

import (
	"time"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// Stmt is a statement of a rule. The types of this file, as pointers, are all of them.
type Stmt interface{ Place() Loc }

// At is where a statement stands.
type At struct{ Loc Loc }

// Place is where it stands.
func (a *At) Place() Loc { return a.Loc }

// The statements.
type (
	// Match is an expression that must hold: a Relational, a Map of verdicts, a FlagCmp, or a bare one that check makes a Relational of.
	Match struct {
		At
		Expr Expr
	}
	// VerdictStmt is a verdict, or a vmap.
	VerdictStmt struct {
		At
		Expr Expr
	}
	// Counter counts. HasValue: numbers were given.
	Counter struct {
		At
		Packets, Bytes uint64
		HasValue       bool
	}
	// QuotaStmt is quota [over] N bytes used M bytes.
	QuotaStmt struct {
		At
		Bytes, Used uint64
		Over        bool
	}
	// LimitStmt is limit rate [over] N/UNIT [burst M packets].
	LimitStmt struct {
		At
		Rate, Unit uint64 // Unit in seconds
		Burst      uint32
		Bytes      bool
		Over       bool
	}
	// Last is last used.
	Last struct {
		At
		Set bool
		Ago time.Duration
	}
	// ConnCount is ct count [over] N.
	ConnCount struct {
		At
		Count uint32
		Over  bool
	}
	// Log is log with its options.
	Log struct {
		At
		Prefix            Expr // a Value, or a List of texts and variables before check; nil for none
		HasGroup          bool
		Group             uint16
		Snaplen           uint32
		HasSnaplen        bool
		QueueThreshold    uint16
		HasQueueThreshold bool
		Level             uint32
		HasLevel          bool
		Flags             uint32
	}
	// Reject is reject [with ...]. Kind -1: none was written.
	Reject struct {
		At
		Kind   int   // expr.RejectKind
		Family uint8 // of an ICMP type: NFPROTO
		Code   Expr
		ICMP   int
	}
	// NAT is dnat, snat, masquerade, redirect.
	NAT struct {
		At
		Kind   NATKind
		Family uint8 // NFPROTO, 0: none was written
		Addr   Expr
		Port   Expr
		Flags  expr.NATFlags
		// Concat: "ip addr . port to"; Prefix: "ip prefix to"; Interval.
		Concat, Prefix, Interval bool
	}
	// SetMeta is meta KEY set VALUE; SetCT, SetPayload and SetExthdr are alike.
	SetMeta struct {
		At
		Key   expr.MetaKey
		Value Expr
	}
	// SetCT is ct KEY set VALUE.
	SetCT struct {
		At
		Key   expr.CTKey
		Dir   *uint8
		Value Expr
	}
	// SetPayload writes into a header.
	SetPayload struct {
		At
		Field Expr
		Value Expr
	}
	// SetExthdr writes into an optional header.
	SetExthdr struct {
		At
		Field Expr
		Value Expr
	}
	// OptStrip is reset tcp option.
	OptStrip struct {
		At
		Option Expr
	}
	// Notrack keeps the packet from being tracked.
	Notrack struct{ At }
	// SetUpdate is add|update|delete @set { key [timeout] [stmts] }.
	SetUpdate struct {
		At
		Op    expr.DynsetOp
		Set   Expr
		Key   Expr // an Element
		Stmts []Stmt
	}
	// MapUpdate is add|update @map { key : data }.
	MapUpdate struct {
		At
		Op        expr.DynsetOp
		Set       Expr
		Key, Data Expr
		Stmts     []Stmt
	}
	// ObjectStmt is counter name "x" and its like; Object is a name or a Map.
	ObjectStmt struct {
		At
		Type   expr.ObjectType
		Object Expr
	}
	// QueueStmt is queue [num N] [flags] or queue to EXPR.
	QueueStmt struct {
		At
		To    Expr
		Flags uint16
	}
	// DupStmt is dup to ADDR [device DEV].
	DupStmt struct {
		At
		Addr, Dev Expr
	}
	// FwdStmt is fwd [ip|ip6] [to ADDR] device DEV.
	FwdStmt struct {
		At
		Family    uint8
		Addr, Dev Expr
	}
	// TproxyStmt is tproxy [ip|ip6] to ADDR:PORT.
	TproxyStmt struct {
		At
		Family     uint8
		Addr, Port Expr
	}
	// SynproxyStmt is synproxy with its options.
	SynproxyStmt struct {
		At
		MSS    uint16
		Wscale uint8
		Flags  uint32
	}
	// FlowStmt is flow add @f.
	FlowStmt struct {
		At
		Table string
	}
	// MeterStmt is the old form meter NAME { key stmt }.
	MeterStmt struct {
		At
		Name string
		Key  Expr
		Stmt Stmt
		Size uint32
		Set  Expr // a SetRef to the set that check declares for it
	}
	// ChainStmt is jump|goto { rules }.
	ChainStmt struct {
		At
		Code  expr.Code
		Chain *ChainDecl
	}
	// XtStmt is a match or target of x_tables, in the words of its translation or `xt match "name"`.
	XtStmt struct {
		At
		Target bool
		Name   string
		Text   string // the translation, which may be empty
		// Translated says that there is a translation, Unspelled that nothing here knows it.
		Translated, Unspelled bool
	}
	// OpaqueStmt is an expression of the kernel's that nothing here can spell.
	OpaqueStmt struct {
		At
		Kind string
	}
)

// NATKind is a kind of translation.
type NATKind uint8

// The kinds.
const (
	SNAT NATKind = iota
	DNAT
	Masquerade
	Redirect
)
