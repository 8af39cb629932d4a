package guard

import (
	"context"

	"github.com/mcptasks/mcptasks/internal/auth"
)

// Record is what becomes known of a request on its way in, for the access log and the metrics. It holds no arguments, no tokens
// and no results.
type Record struct {
	// Caller is who sent it.
	Caller auth.Caller
	// Method is the JSON-RPC method, where it is one that this endpoint serves.
	Method string
	// Target is the tool or the task that the request names.
	Target string
	// Task is the task that the request is about: the one that a call became, also if it was waited for, and the one that tasks/*
	// names.
	Task string
	// Code is the JSON-RPC error code of the answer, 0 for a result.
	Code int
}

type recordKey struct{}

// RecordOf returns the record of the request that ctx belongs to. Outside of Observe it is one that nobody reads.
func RecordOf(ctx context.Context) *Record {
	if record, ok := ctx.Value(recordKey{}).(*Record); ok {
		return record
	}
	return &Record{}
}

func withRecord(ctx context.Context, record *Record) context.Context {
	return context.WithValue(ctx, recordKey{}, record)
}
