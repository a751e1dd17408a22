-- PURPOSE    Find the open attempts of a task type in some executions.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       task type, ids
-- RETURNS    {id, seq, has a queue (1 or 0), held (1 or 0), …} in the order of the ids
-- INVARIANT  Writes nothing. What cannot be read, of an attempt or of an execution, leaves out that alone.
-- BOUND      The ids; the attempts of each.
-- @include record
-- @include claim
local P, task_type = KEYS[1], ARGV[1]
local out = {}

local function open_one(id, key, record, header, seq, state)
  local a = cjson.decode(state)
  if a.type == task_type and is_open(record, header, seq, a) then
    local held, n = read_claim(redis.call('HGET', key, 'c:' .. seq)).held == 1 and 1 or 0, #out
    out[n + 1], out[n + 2], out[n + 3], out[n + 4] = id, seq, a.q ~= '' and 1 or 0, held
  end
end

local function look_at(id, key, record, header, seqs)
  local names = {}
  for i, seq in ipairs(seqs) do
    names[i] = 'a:' .. seq
  end
  for i, state in ipairs(redis.call('HMGET', key, unpack(names))) do
    local status = state and string.match(state, '"st":%s*"(%u+_?%u*)"')
    if status == 'SCHEDULED' or status == 'IN_PROGRESS' then
      pcall(open_one, id, key, record, header, seqs[i], state)
    end
  end
end

-- The attempts that a header says there are, in order. A header that says more than there are fields is damaged, or
-- names those of a long past: then they are looked for.
local function seqs_of(key, header)
  local seqs, first, last = {}, header_int(header, 'first_seq'), header_int(header, 'next_seq') - 1
  if last - first < redis.call('HLEN', key) then
    for seq = first, last do
      seqs[#seqs + 1] = seq
    end
    return seqs
  end
  for _, name in ipairs(redis.call('HKEYS', key)) do
    local seq = #name < 18 and tonumber(string.match(name, '^a:(%d+)$'))
    if seq and seq >= first and seq <= last then
      seqs[#seqs + 1] = seq
    end
  end
  table.sort(seqs)
  return seqs
end

local function find(id)
  local key = P .. 'exec:' .. id
  local present = redis.call('HMGET', key, 'v', 'h')
  local record = present[1] and read_record(present[1])
  if record and not record.terminal then
    local seqs = seqs_of(key, present[2])
    for from = 1, #seqs, 1000 do
      look_at(id, key, record, present[2], {unpack(seqs, from, math.min(from + 999, #seqs))})
    end
  end
end

for i = 2, #ARGV do
  pcall(find, ARGV[i])
end
return out
