-- The shop's own tables. The ledger lies beside them, in a schema of its own, so that one transaction covers both.
CREATE SCHEMA IF NOT EXISTS shop;

-- No unique constraint on purpose: that there is one shipment per fulfilment is the ledger's doing.
CREATE TABLE IF NOT EXISTS shop.shipments (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  fulfilment  text NOT NULL,
  order_id    text NOT NULL,
  shipped_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS shop.pickups (
  shipment    text NOT NULL,
  booked_at   timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS shop.refunds (
  order_id    text NOT NULL,
  amount      integer NOT NULL,
  refund      text NOT NULL
);

CREATE TABLE IF NOT EXISTS shop.stock (
  sku         text PRIMARY KEY,
  quantity    integer NOT NULL CHECK (quantity >= 0)
);
INSERT INTO shop.stock (sku, quantity) VALUES ('mug-blue', 1000) ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS shop.triage (
  issue_id    bigint NOT NULL,
  repository  text NOT NULL,
  title       text NOT NULL
);
