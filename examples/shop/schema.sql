-- The tables that the shop's effects write to. No unique constraint on what may happen once: that is the ledger's work.
CREATE SCHEMA IF NOT EXISTS shop;

CREATE TABLE IF NOT EXISTS shop.shipments (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  fulfilment text NOT NULL,
  order_id   text NOT NULL,
  shipped_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS shop.triage (
  issue_id   bigint,
  repository text,
  title      text
);
