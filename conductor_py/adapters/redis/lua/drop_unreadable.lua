-- PURPOSE    Delete an execution in quarantine whose record or header cannot be read: nothing can end it.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, channel, id, whether its header can be read, its workflow (empty: unknown), id of the effect that has
--            index and archive forget it, event of who gets its place under a workflow limit, its header as it was read, id
--            and document of the effect that tells its parent (empty: none), in how many ms that is due
-- RETURNS    1; 0 when it is not in quarantine or can be read
-- INVARIANT  What can be read stays, and so does what has another header meanwhile. What goes is listed and counted no
--            more.
-- BOUND      Constant, and the 100 at most that are admitted; memory is freed in the background.
-- @include room
-- @include time
-- @include record
-- @include lease
-- @include setback
-- @include references
-- @include wake
-- @include permits
-- @include admission
-- @include drop
local P, now, id = KEYS[1], store_now(ARGV[1]), ARGV[3]
goes_on(P)
local present = redis.call('HMGET', P .. 'exec:' .. id, 'v', 'l', 'h')
local _, owner = lease_of(present[2])
local is_damaged = ARGV[4] == '0' or not pcall(read_record, present[1] or '')
if not present[1] or owner ~= QUARANTINE or not is_damaged then
  return 0
end
return drop_execution(P, {id, unpack(ARGV, 5)}, ARGV[2], now) and 1 or 0
