"""The store on Redis or Valkey: one Lua script per atomic operation, one hash tag per partition."""
