package auth

import "net/http"

// Anonymous lets everybody in as one and the same caller. It is for a laptop.
type Anonymous struct {
	// Namespace is the tenant's namespace that everybody works in.
	Namespace string
	// Tenants checks that it is one.
	Tenants Tenants
}

// Authenticate implements Authenticator. It looks at no token.
func (a Anonymous) Authenticate(r *http.Request) (Caller, error) {
	tenant, err := a.Tenants.Tenant(r.Context(), a.Namespace)
	if err != nil {
		return Caller{}, err
	}
	return Caller{Issuer: IssuerAnonymous, Subject: "anonymous", Tenant: tenant, Namespace: a.Namespace}, nil
}
