-- A migration with a mistake of the kind that gets through review ("order" for "orders"). The environment "preview" is there to
-- show how a failing call comes back.

-- +goose Up
CREATE TABLE currencies (code TEXT PRIMARY KEY);
ALTER TABLE order ADD COLUMN currency TEXT NOT NULL DEFAULT 'EUR';

-- +goose Down
ALTER TABLE orders DROP COLUMN currency;
DROP TABLE currencies;
