package snapshot

import (
	"fmt"
	"time"

	"github.com/chainwalk/chainwalk/fakenft/decompile"
	"github.com/chainwalk/chainwalk/fakenft/print"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/nfnetlink"
	"github.com/chainwalk/chainwalk/internal/nftnetlink"
)

// listings are the tables of the namespace's nf_tables as nft lists them, with handles. What iptables-nft made is among them.
func (t *taker) listings() (map[nftTableID]string, error) {
	socket, err := nfnetlink.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = socket.Close() }() // only read
	now := time.Now()
	ruleset, err := nftnetlink.Read(socket, now)
	if err != nil {
		return nil, err
	}
	names := map[uint32]string{}
	for i := range t.snapshot.Devices {
		names[uint32(t.snapshot.Devices[i].Index)] = t.snapshot.Devices[i].Name
	}
	o := &print.Options{Handles: true, Device: func(index uint32) (string, bool) {
		name, known := names[index]
		return name, known
	}}
	texts := map[nftTableID]string{}
	for _, table := range decompile.Read(ruleset, now) {
		text, err := print.AppendRuleset(nil, []*syntax.TableDecl{table}, o)
		if err != nil {
			return nil, fmt.Errorf("table %s %s: %w", table.Handle.Family, table.Handle.Table, err)
		}
		texts[nftTableID{uint8(table.Handle.Family), table.Handle.Table}] = string(text)
	}
	return texts, nil
}
