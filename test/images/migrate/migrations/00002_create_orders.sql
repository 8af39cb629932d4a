-- +goose Up
CREATE TABLE orders (
    id          INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    cents       INTEGER NOT NULL CHECK (cents >= 0),
    placed_at   TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);

INSERT INTO customers (id, email, name) VALUES
    (1, 'ada@example.org', 'Ada'),
    (2, 'grace@example.org', 'Grace');

INSERT INTO orders (customer_id, cents) VALUES (1, 4200), (1, 1999), (2, 7350);

-- +goose Down
DROP TABLE orders;
DELETE FROM customers WHERE id IN (1, 2);
