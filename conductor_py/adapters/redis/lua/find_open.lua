-- PURPOSE    Find the open attempts of a task type in some executions.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       task type, ids
-- RETURNS    {id, seq, has a queue (1 or 0), held (1 or 0), …} in the order of the ids
-- INVARIANT  Writes nothing.
-- BOUND      The ids; the attempts of each.
-- @include record
-- @include claim
local P, task_type = KEYS[1], ARGV[1]
local out = {}

local function look_at(id, key, record, header, seqs)
  local names = {}
  for i, seq in ipairs(seqs) do
    names[i] = 'a:' .. seq
  end
  for i, state in ipairs(redis.call('HMGET', key, unpack(names))) do
    local status = state and string.match(state, '"st":%s*"(%u+_?%u*)"')
    if status == 'SCHEDULED' or status == 'IN_PROGRESS' then
      local a = cjson.decode(state)
      if a.type == task_type and is_open(record, header, seqs[i], a) then
        local n, c = #out, read_claim(redis.call('HGET', key, 'c:' .. seqs[i]))
        out[n + 1], out[n + 2], out[n + 3], out[n + 4] = id, seqs[i], a.q ~= '' and 1 or 0, c.held
      end
    end
  end
end

for i = 2, #ARGV do
  local key = P .. 'exec:' .. ARGV[i]
  local present = redis.call('HMGET', key, 'v', 'h')
  local record = present[1] and read_record(present[1])
  if record and not record.terminal then
    local upto, seqs = header_int(present[2], 'next_seq') - 1, {}
    for seq = header_int(present[2], 'first_seq'), upto do
      seqs[#seqs + 1] = seq
      if #seqs == 1000 or seq == upto then
        look_at(ARGV[i], key, record, present[2], seqs)
        seqs = {}
      end
    end
  end
end
return out
