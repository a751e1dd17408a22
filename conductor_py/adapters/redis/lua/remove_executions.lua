-- PURPOSE    Forget executions that have been archived.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       leave those with plans of their own (1: they are for who looks which), ids each with a version
-- RETURNS    for each: OK | STALE | GONE | LEFT | why it cannot be read
-- INVARIANT  Compare and delete: terminal, drained, nothing in its inbox, and still that version. Its plan counts one
--            execution less.
-- BOUND      Constant for each; memory is freed in the background.
-- @include room
-- @include record
-- @include references
local P = KEYS[1]
goes_on(P)

local function removed(id, version)
  local key = P .. 'exec:' .. id
  local present = redis.call('HMGET', key, 'v', 'h')
  if not present[1] then
    return 'GONE'
  end
  local record = read_record(present[1])
  if not record.terminal or record.version ~= version or redis.call('EXISTS', P .. 'inbox:' .. id) == 1
    or is_draining(present[2]) then
    return 'STALE'
  end
  if ARGV[1] == '1' and header_int(present[2], 'frag') > 0 then
    return 'LEFT'
  end
  count_reference(P, plan_of_header(present[2]), -1)
  redis.call('UNLINK', key, P .. 'ans:' .. id, P .. 'park:' .. id, P .. 'log:' .. id, P .. 'ckpt:' .. id)
  redis.call('ZREM', P .. 'timers:' .. record.home, 'x:' .. id)
  return 'OK'
end

local outcomes = {}
for i = 2, #ARGV, 2 do
  local done, outcome = pcall(removed, ARGV[i], tonumber(ARGV[i + 1]))
  outcomes[i / 2] = done and outcome or type(outcome) == 'table' and outcome.err or tostring(outcome)
end
return outcomes
