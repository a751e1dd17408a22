-- Reference, iteration and plan of an attempt, cut out of its state: to decode all of it is dearer. What is escaped,
-- or in another order, is decoded.
local PLACE = '^{"ref":%s*"([^"]*)",%s*"it":%s*"([^"]*)",.-"plan":%s*"([^"]*)"'

local function locate(state)
  local ref, it, plan = string.match(state, PLACE)
  if plan and not string.find(ref, '\\', 1, true) and not string.find(it, '\\', 1, true) then
    return ref, it, plan
  end
  local a = cjson.decode(state)
  return tostring(a.ref), a.it or '', tostring(a.plan)
end

-- What a lease holder needs in order to decide: at most 1,000 events; of the first 256 attempts that they name the
-- state, claim side and output, and what the plan's reads name, within 1 MB. A caller that knows the events, or has
-- read the state of the attempt `seq`, hands them in.
local function loaded(P, id, record, header, now, events, seq, state)
  events = events or redis.call('LRANGE', P .. 'inbox:' .. id, 0, 999)
  local key = P .. 'exec:' .. id
  local reader = new_reader(key, header_int(header, 'first_seq'), 1048576)
  local seqs, known, names, unread = {}, {}, {}, nil
  for _, event in ipairs(events) do
    if #seqs == 256 then
      break
    end
    local named = string.match(event, '^(%d+) ')
    if named and not known[named] then
      known[named] = true
      local n = #names
      seqs[#seqs + 1] = named
      names[n + 1], names[n + 2], names[n + 3] = 'a:' .. named, 'c:' .. named, 'o:' .. named
      unread = unread or named ~= seq
    end
  end
  if #seqs > 0 then
    if unread then
      fetch_fields(reader, names)
      names = {}
    end
    local reads, alike = {}, {}
    for _, named in ipairs(seqs) do
      local text = state
      if unread then
        text = reader.found['a:' .. named]
      end
      if text then
        local ref, it, hash = locate(text)
        local plan = P .. 'plan:' .. hash
        local wanted = redis.call('HGET', plan, 'n:' .. ref) or redis.call('HGET', plan, 'n:*')
        -- The branches of a fork mostly read the same.
        if wanted and not alike[wanted .. it] then
          alike[wanted .. it] = true
          for _, read in ipairs(cjson.decode(wanted)) do
            reads[#reads + 1] = expand_vector(read, it)
          end
        end
      end
    end
    fetch_reads(reader, names, reads)
  end
  local out = reader.out
  local n = #out
  out[n + 1], out[n + 2] = 'h', header or ''
  return {id, record.version, now, record.base, events, out}
end
