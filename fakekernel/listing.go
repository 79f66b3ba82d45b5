package fakekernel

import "github.com/chainwalk/chainwalk/fakenft"

// ListingError is the error of a listing of nft that is not understood, with the line and column.
type ListingError = fakenft.LoadError

// RulePlace is where in a listing of nft a rule stands.
type RulePlace = fakenft.RulePlace
